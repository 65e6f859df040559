/** Runs a program in tmux, which wraps the rows of a window anew when its width changes. */
import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { onTestFinished } from "vitest";
import { waitUntil } from "./wait-until.ts";

const run = promisify(execFile);
const program = ["/usr/bin/tmux", "/usr/local/bin/tmux", "/opt/homebrew/bin/tmux"].find((path) => existsSync(path));

export const hasTmux = program !== undefined;

export type Tmux = {
  /** Texts, and names of keys as tmux has them. */
  type(...keys: string[]): Promise<void>;
  resize(columns: number, rows: number): Promise<void>;
  /** The scrollback and the screen; lines are whole again. */
  text(): Promise<string>;
  /** The screen alone. */
  screen(): Promise<string>;
  shows(what: string | RegExp): Promise<void>;
};

export async function openTmux(cwd: string, env: Record<string, string>, command: string[]): Promise<Tmux> {
  const tmux = async (...args: string[]) => {
    const socket = ["-S", join(cwd, "tmux.sock"), "-f", "/dev/null"];
    return (await run(program ?? "tmux", [...socket, ...args], { cwd, env: { ...env, TERM: "xterm-256color" } }))
      .stdout;
  };
  await tmux("new-session", "-d", "-s", "test", "-x", "80", "-y", "24", command.join(" "));
  onTestFinished(() =>
    tmux("kill-server").then(
      () => {},
      () => {},
    ),
  );
  const capture = async (...range: string[]) =>
    (await tmux("capture-pane", "-p", "-J", ...range, "-t", "test")).trimEnd().replace(/ +$/gm, "");
  const text = () => capture("-S", "-");
  return {
    type: async (...keys) => void (await tmux("send-keys", "-t", "test", ...keys)),
    resize: async (columns, rows) =>
      void (await tmux("resize-window", "-t", "test", "-x", String(columns), "-y", String(rows))),
    text,
    screen: () => capture(),
    async shows(what) {
      const isThere = (shown: string) => (typeof what === "string" ? shown.includes(what) : what.test(shown));
      let shown = "";
      const look = async () => {
        shown = await text();
        return isThere(shown);
      };
      await waitUntil("", look).catch(() => {
        throw new Error(`tmux never showed ${what}, but:\n${shown}`);
      });
    },
  };
}
