/** Opens the built terminal app on a pseudo-terminal, in a project with an offline agent. */
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type AegisProject, aegisProject, cliPath } from "./aegis.ts";
import { obedient } from "./project.ts";
import { openPty, type Pty } from "./pty.ts";
import { waitUntil } from "./wait-until.ts";

export const keys = {
  enter: "\r",
  escape: "\u001b",
  up: "\u001b[A",
  down: "\u001b[B",
  tab: "\t",
  altUp: "\u001b[1;3A",
  pageUp: "\u001b[5~",
  pageDown: "\u001b[6~",
  ctrlHome: "\u001b[1;5H",
  ctrlEnd: "\u001b[1;5F",
  ctrlC: "\u0003",
  ctrlD: "\u0004",
  ctrlJ: "\n",
  ctrlN: "\u000e",
  ctrlO: "\u000f",
  ctrlP: "\u0010",
  ctrlR: "\u0012",
  ctrlS: "\u0013",
  ctrlT: "\u0014",
  ctrlW: "\u0017",
  ctrlZ: "\u001a",
  f1: "\u001bOP",
  f4: "\u001bOS",
  f5: "\u001b[15~",
  f6: "\u001b[17~",
};

export type App = {
  project: AegisProject;
  pty: Pty;
  /** Lets a step of the agent that waits for this gate go on. */
  open(gate: string): Promise<void>;
  /** Resolves when the visible rows contain the text or match the pattern. */
  shows(what: string | RegExp): Promise<void>;
  /** Resolves when they do not. */
  hides(what: string | RegExp): Promise<void>;
};

export type AppOptions = {
  files?: Readonly<Record<string, string>>;
  columns?: number;
  rows?: number;
  env?: Record<string, string>;
  /** The command that opens the app; `aegis` alone if omitted. */
  args?: string[];
  /** Runs before the app opens. */
  prepare?(project: AegisProject): Promise<unknown>;
};

export async function openApp(options: AppOptions = {}): Promise<App> {
  const project = await aegisProject(options.files ?? obedient);
  await options.prepare?.(project);
  return appOn(project, options);
}

export async function appOn(project: AegisProject, options: AppOptions = {}): Promise<App> {
  const { columns = 80, rows = 24, args = [] } = options;
  const env = { ...project.env, ...options.env };
  const pty = openPty(process.execPath, [cliPath, ...args], { cwd: project.root, env, columns, rows, answers: true });
  const isThere = async (what: string | RegExp) => {
    const shown = await pty.screen();
    return typeof what === "string" ? shown.includes(what) : what.test(shown);
  };
  const wait = async (what: string | RegExp, wanted: boolean) => {
    await waitUntil("", async () => (await isThere(what)) === wanted).catch(async () => {
      throw new Error(`the screen ${wanted ? "never showed" : "kept showing"} ${what}:\n${await pty.screen()}`);
    });
  };
  const app: App = {
    project,
    pty,
    async open(gate) {
      await mkdir(join(project.root, "gates"), { recursive: true });
      await writeFile(join(project.root, "gates", gate), "");
    },
    shows: (what) => wait(what, true),
    hides: (what) => wait(what, false),
  };
  await app.shows("● live");
  return app;
}
