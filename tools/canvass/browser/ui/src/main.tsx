// The start of the page: takes the token, sets the colours, listens to keys, renders the page.

import { render } from "preact";
import { useToken } from "./api/client";
import { App } from "./app";
import { listenToKeys } from "./keys/keys";
import { applyTheme } from "./session/theme";
import { takeToken } from "./session/token";

useToken(takeToken().token);
applyTheme();
listenToKeys();

const place = document.getElementById("app");
if (place) {
  place.replaceChildren();
  render(<App />, place);
}
