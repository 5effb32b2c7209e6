// The choice between a drawing and a list: two buttons, and the key `v`.

import type { ComponentChild } from "preact";
import { useState } from "preact/hooks";
import { useKeys } from "../keys/keys";

/** Gives whether the list is chosen, and the buttons. */
export function useListChoice(keys: string, drawing = "Drawing"): readonly [boolean, ComponentChild] {
  const [list, setList] = useState(false);
  useKeys(keys, [{ keys: ["v"], does: `${drawing.toLowerCase()} or list`, run: () => setList((was) => !was) }]);
  return [list, (
    <div class="choice" role="group" aria-label="How to show it">
      <button type="button" aria-pressed={!list} onClick={() => setList(false)}>{drawing}</button>
      <button type="button" aria-pressed={list} onClick={() => setList(true)}>List</button>
    </div>
  )];
}
