// The start of the page: takes the token, sets the colours, listens to keys, renders the page.

import { render } from "preact";
import { saved, useToken } from "./api/client";
import { App } from "./app";
import { listenToKeys } from "./keys/keys";
import { applyTheme } from "./session/theme";
import { takeToken } from "./session/token";

useToken(takeToken().token);
applyTheme();
listenToKeys();

// A saved page opens where it was saved.
const opened = document.body.dataset["place"];
if (saved && opened && location.hash === "") history.replaceState(null, "", decodeURIComponent(opened));

const place = document.getElementById("app");
if (place) {
  place.replaceChildren();
  render(<App />, place);
}
