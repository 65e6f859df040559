/** A project, a home and versions of a plugin to install there, with everything the project holds to compare. */
import { lstat, mkdir, readdir, readFile, readlink, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { PluginInstaller } from "@aegis/installer/plugin/installer.ts";
import { createInstaller, type InstallerSetup } from "@aegis/project/packages/plugin-installer.ts";
import { onTestFinished } from "vitest";
import { projectFolder } from "../project-folder.ts";

export type PluginProject = {
  root: string;
  home: string;
  /** Where the plugin is installed from. */
  source: string;
  /** What the installer said. */
  said: string[];
  installer(setup?: Partial<InstallerSetup>): Promise<PluginInstaller>;
  /** Puts another version where the plugin is installed from. */
  offer(files: Readonly<Record<string, string>>): Promise<void>;
  write(path: string, text: string): Promise<void>;
  read(path: string): Promise<string>;
  snapshot(): Promise<Map<string, string>>;
};

export const projectConfig = `# Mine.
default_agent: dev   # who answers

agents:
  # The one that works.
  dev: { harness: scripted }

plugins:
  hello:
    tone: warm   # my own
`;

export const firstVersion = {
  "plugin.toml": `[plugin]
name = "hello"
version = "1.0.0"
description = "Says hello"
requires_aegis = ">=0.1"

[default_config]
tone = "plain"
greeting = "hi"
limits = { words = 5 }
`,
  "hello.ts": 'import { hook } from "aegis";\nexport const greet = hook("pre_turn", async () => null);\n',
  "_install.ts": `export async function install(ctx) {
  await ctx.edit.addAgent("dreamer", { harness: "scripted" });
  await ctx.edit.addQueue("dreams", { agent: "dreamer" });
  await ctx.scheduler.writeAtomic("dream", { queue: "dreams", payload: "dream", cron: "0 3 * * *" });
  await ctx.files.create(".aegis/memory/SOUL.md", "# soul\\n");
}
`,
  "_uninstall.ts": 'export const uninstall = (ctx) => ctx.console.log("bye " + ctx.pluginName);\n',
};

export const secondVersion = {
  ...firstVersion,
  "plugin.toml": firstVersion["plugin.toml"]
    .replace("1.0.0", "1.1.0")
    .replace('greeting = "hi"', 'greeting = "hi"\nsize = 2'),
  "hello.ts": `${firstVersion["hello.ts"]}export const bye = hook("post_turn", async () => {});\nfetch;\n`,
  "more.ts": "export const more = 1;\n",
};

export async function pluginProject(files: Readonly<Record<string, string>> = firstVersion): Promise<PluginProject> {
  const { folder, root, home, write, remove } = await projectFolder(
    { ".aegis.yaml": projectConfig },
    { trusted: false },
  );
  onTestFinished(remove);
  const source = join(folder, "source", "hello");
  const said: string[] = [];
  const project: PluginProject = {
    root,
    home,
    source,
    said,
    installer: (setup = {}) => createInstaller({ ...setupFor(root, home, said), ...setup }),
    async offer(version) {
      for (const [path, text] of Object.entries(version)) {
        await mkdir(dirname(join(source, path)), { recursive: true });
        await writeFile(join(source, path), text);
      }
    },
    write,
    read: (path) => readFile(join(root, path), "utf8"),
    snapshot: () => snapshot(root),
  };
  await project.offer(files);
  return project;
}

/** A person who agrees to everything and takes every default. */
export function setupFor(root: string, home: string, said: string[]): InstallerSetup {
  const print = (line: string) => void said.push(line);
  return {
    root,
    env: { HOME: home, PATH: process.env.PATH },
    harnesses: ["scripted", "native", "acp"],
    person: {
      print,
      warn: print,
      confirm: async (_, preset) => preset,
      agree: async () => "yes",
      override: async () => [],
    },
    signal: new AbortController().signal,
  };
}

/** Every file with its mode and content, and every folder; what Aegis keeps for itself is left out. */
async function snapshot(root: string): Promise<Map<string, string>> {
  const found = new Map<string, string>();
  for (const entry of await readdir(root, { recursive: true })) {
    if (entry.startsWith(join(".aegis", "state"))) continue;
    const path = join(root, entry);
    const info = await lstat(path);
    const mode = (info.mode & 0o777).toString(8);
    if (info.isDirectory()) found.set(entry, "folder");
    else if (info.isSymbolicLink()) found.set(entry, `link ${await readlink(path)}`);
    else found.set(entry, `${mode} ${await readFile(path, "utf8")}`);
  }
  // A folder that only holds what is left out is no change of the project.
  if (![...found.keys()].some((path) => path.startsWith(".aegis/"))) found.delete(".aegis");
  return new Map([...found].sort(([a], [b]) => (a < b ? -1 : 1)));
}
