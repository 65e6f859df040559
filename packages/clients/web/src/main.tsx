/** The entry of the web app. */

import { isAegisError } from "@aegis/contract/errors.ts";
import { render } from "preact";
import { problemText } from "./app/busy.ts";
import { login } from "./app/client.ts";
import { start } from "./app/store.ts";
import { Shell } from "./views/shell.tsx";

function Closed({ text, command }: { text: string; command: string | null }) {
  return (
    <main class="closed">
      <h1>Aegis</h1>
      <p>{text}</p>
      {command === null ? null : (
        <p>
          Run <code>{command}</code> in the project's folder and open the link that it prints.
        </p>
      )}
    </main>
  );
}

async function main(root: Element): Promise<void> {
  try {
    await login();
    await start();
    render(<Shell />, root);
  } catch (error) {
    const isClosed = isAegisError(error) && (error.status === 401 || error.status === 403);
    const text = isClosed ? "This browser has no access to the project, or its access has ended." : problemText(error);
    render(<Closed text={text} command={isClosed ? "aegis web" : null} />, root);
  }
}

const root = document.getElementById("app");
if (root !== null) void main(root);
