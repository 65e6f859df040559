/** The project in which the daemon is killed: its agents, queues and files. */
import { mkdir, mkdtemp, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { playbooks } from "./playbooks.ts";

const acpAgent = fileURLToPath(new URL("acp-agent.mjs", import.meta.url));

/** What an ACP agent does when its session is loaded, and how long it is silent before it answers. */
export const acpVariants = {
  replays: { load: "replays", thinkMs: 5 },
  thinker: { load: "replays", thinkMs: 300 },
  silent: { load: "silent", thinkMs: 40 },
  refuser: { load: "refuses", thinkMs: 120 },
  forgetful: { load: "none", thinkMs: 120 },
} as const;

export type AcpVariant = keyof typeof acpVariants;

/** Where the ACP agents write what they were sent and what they did. */
export const agentsFolder = (project: string) => join(project, "agents");

export async function createProject(files: Readonly<Record<string, string>>): Promise<string> {
  const project = await createFolder();
  await writeProject(project, files);
  return project;
}

export function createFolder(): Promise<string> {
  return mkdtemp(join(tmpdir(), "aegis-chaos-"));
}

/** `journal` is the folder in which the ACP agents write, which the nodes of a cluster share. */
export async function writeProject(
  project: string,
  files: Readonly<Record<string, string>>,
  journal: string = project,
): Promise<void> {
  const rules = Object.fromEntries(Object.entries(playbooks).map(([name, text]) => [`${name}.yaml`, text]));
  const all = { ...rules, ...files, ".aegis.yaml": configOf(journal) };
  for (const [path, text] of Object.entries<string>(all)) {
    await mkdir(dirname(join(project, path)), { recursive: true });
    await writeFile(join(project, path), text);
  }
}

function configOf(journal: string): string {
  const scripted = Object.keys(playbooks).map((name) => [name, { harness: "scripted", playbook: `${name}.yaml` }]);
  const acp = Object.entries(acpVariants).map(([name, { load, thinkMs }]) => {
    const flags = [`--folder=${agentsFolder(journal)}`, `--load=${load}`, `--think=${thinkMs}`];
    return [name, { harness: "acp", permission: "auto", options: { command: [process.execPath, acpAgent, ...flags] } }];
  });
  // JSON is YAML.
  return JSON.stringify({
    default_agent: "relay",
    messages: { max_per_minute: 1_000_000, max_hops: 10_000 },
    subagents: { max_children: 1_000, budget: { agents: 10_000, spawns: 1_000_000 } },
    agents: Object.fromEntries([...scripted, ...acp]),
    queues: {
      work: { agent: "noter", max_parallel: 4, retries: 100 },
      chores: { agent: "noter", max_parallel: 4, retries: 100 },
      errands: { agent: "replays", max_parallel: 2, retries: 100 },
    },
    schedules: {
      minutely: { agent: "noter", prompt: "note minutely slot", cron: "* * * * *", missed: "all", on_overlap: "queue" },
    },
  });
}
