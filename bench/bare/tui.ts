/** A bare pi-tui program: draws typed text and a growing list of lines, and nothing else. */
import { ProcessTerminal } from "@earendil-works/pi-tui/dist/terminal.js";
import { TuiAltScreen } from "@earendil-works/pi-tui/dist/tui-alt-screen.js";

const words = "word and more text that goes on ";
const lineMs = 5;

const lines: string[] = [];
let typed = "";
const terminal = new ProcessTerminal();
const tui = new TuiAltScreen(terminal, true, undefined, { mouse: false });
const root = {
  invalidate() {},
  render() {
    const rows = terminal.rows;
    const shown = lines.slice(-(rows - 2));
    return [...shown, ...Array.from({ length: rows - 2 - shown.length }, () => ""), `> ${typed}`, "live"];
  },
  handleInput(data: string) {
    if (data === "\r") stream();
    else typed += data;
  },
};

/** Adds 200 lines a second, as the streaming agent does, and draws at most every 33 ms. */
function stream(): void {
  typed = "";
  const timer = setInterval(() => {
    lines.push(`${lines.length} ${words}`);
    if (lines.length > 2_000) clearInterval(timer);
  }, lineMs);
  const frames = setInterval(() => tui.requestRender(), 33);
  setTimeout(() => clearInterval(frames), 2_001 * lineMs);
}

tui.setLayoutRoot(root);
tui.setFocus(root);
tui.start();
