// The list of the keys that are active at this moment.

import { Dialog } from "../parts/dialog";
import { activeKeys, keyName } from "./keys";

export function KeyHelp({ close }: { close: () => void }) {
  return (
    <Dialog title="Keys" close={close}>
      <div class="keys">
        {activeKeys().map((group) => (
          <section key={group.title}>
            <h3>{group.title}</h3>
            <dl>
              {group.keys.map((key) => (
                <div key={key.does}>
                  <dt>{key.keys.map((name) => <kbd key={name}>{keyName(name)}</kbd>)}</dt>
                  <dd>{key.does}</dd>
                </div>
              ))}
            </dl>
          </section>
        ))}
      </div>
      <p class="soft">
        Tab goes through everything that can be pressed; in a text field keys are text, Esc leaves it.
      </p>
    </Dialog>
  );
}
