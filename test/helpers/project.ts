/** A project folder with real daemons of the built package, which a test starts, watches, signals and kills. */
import { type ChildProcess, spawn } from "node:child_process";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { type Client, createClient } from "@aegis/client/client.ts";
import { type DaemonFile, isSameProcess, readDaemonFile } from "@aegis/lib/daemon-file.ts";
import { afterAll, beforeAll, onTestFinished } from "vitest";
import { storeEnv } from "./cluster.ts";
import { type ProjectFiles, projectFolder } from "./project-folder.ts";
import { waitUntil } from "./wait-until.ts";

const entry = fileURLToPath(new URL("../../dist/daemon.js", import.meta.url));

export type Exit = { code: number | null; signal: NodeJS.Signals | null; stderr: string };

export type DaemonProcess = {
  pid: number;
  /** Its log so far. */
  readonly output: string;
  exited: Promise<Exit>;
  signal(name: NodeJS.Signals): void;
  /** As a power cut would; resolves when it is gone. */
  kill(): Promise<void>;
};

export type Daemon = DaemonProcess & { client: Client; file: DaemonFile };

export type LaunchOptions = {
  args?: readonly string[];
  env?: Readonly<Record<string, string>>;
  /** A command that runs the daemon, such as one that gives up rights first. */
  through?: readonly string[];
};

export type Project = {
  dir: string;
  write(path: string, text: string | Uint8Array): Promise<void>;
  /** Lets the step that waits for this gate go on. */
  open(gate: string): Promise<void>;
  /** Starts a daemon and waits until it can be reached. */
  start(options?: LaunchOptions): Promise<Daemon>;
  /** Starts a daemon that is not expected to come up. */
  launch(options?: LaunchOptions): DaemonProcess;
};

/** One offline agent that does what the messages say, by this playbook. */
export const obedient = {
  ".aegis.yaml": "default_agent: dev\nagents:\n  dev: { harness: scripted, playbook: playbook.yaml }\n",
  "playbook.yaml": `
rules:
  - name: hold until a gate opens
    when: '/^hold (\\S+)/'
    steps: [{ say: "holding {1}" }, { wait: { gate: "gates/{1}" } }, { say: "released {1}" }]
  - name: hand over, then hold
    when: '/^hand (\\S+) to (\\S+) then hold (\\S+)/'
    steps:
      - tool: aegis_handoff
        input: { target_handle: "{2}", context: "{1}" }
        save: receipt
      - wait: { gate: "gates/{3}" }
      - say: "{receipt}"
  - name: spawn, then hold
    when: '/^spawn (\\S+) then hold (\\S+)/'
    steps:
      - tool: aegis_spawn
        input: { agent: dev, handle: "{1}", prompt: "hello {1}" }
        save: peer
      - wait: { gate: "gates/{2}" }
      - say: "{peer}"
  - name: ask
    when: '/^may you (.+)/'
    steps:
      - ask: "May I {1}?"
        tool: "{1}"
        save: decision
      - say: "{decision}: {1}"
  - name: stream
    when: '/^stream (.+)/s'
    steps: [{ stream: "{1}", chunk: 4, delay: 1 }]
  - name: anything else
    when: always
    steps: [{ say: "you said: {text}" }]
`,
};

/** A project for one test, removed with it and all of its daemons. */
export async function testProject(files: ProjectFiles = obedient): Promise<Project> {
  const { project, remove } = await createProject(files);
  onTestFinished(remove);
  return project;
}

/** One project and daemon for all tests of a file. */
export function sharedDaemon(files: ProjectFiles = obedient, options: LaunchOptions = {}) {
  const shared = {} as { project: Project; daemon: Daemon };
  let remove = async () => {};
  beforeAll(async () => {
    const created = await createProject(files);
    remove = created.remove;
    shared.project = created.project;
    shared.daemon = await created.project.start(options);
  });
  afterAll(() => remove());
  return shared;
}

async function createProject(files: ProjectFiles): Promise<{ project: Project; remove(): Promise<void> }> {
  const at = await projectFolder(files);
  const { root: dir, home, folder, write } = at;
  const running = new Set<DaemonProcess>();

  const launch = ({ args = [], env = {}, through = [] }: LaunchOptions = {}) => {
    const argv = [...through, process.execPath, entry, "--project", dir, ...args];
    const clean = { HOME: home, PATH: "/usr/bin:/bin", LANG: "C.UTF-8", ...storeEnv(), ...env };
    const child = spawn(argv[0] ?? "", argv.slice(1), { cwd: folder, env: clean, stdio: ["ignore", "pipe", "pipe"] });
    const daemon = watch(child);
    running.add(daemon);
    void daemon.exited.then(() => running.delete(daemon));
    return daemon;
  };
  return {
    project: {
      dir,
      write,
      open: (gate) => write(join("gates", gate), ""),
      launch,
      async start(options) {
        const daemon = launch(options);
        const file = await daemonFile(dir, daemon);
        return Object.assign(daemon, { file, client: createClient(file) });
      },
    },
    async remove() {
      await Promise.all([...running].map((daemon) => daemon.kill()));
      await at.remove();
    },
  };
}

function watch(child: ChildProcess): DaemonProcess {
  let output = "";
  let stderr = "";
  child.stdout?.setEncoding("utf8").on("data", (text: string) => {
    output += text;
  });
  child.stderr?.setEncoding("utf8").on("data", (text: string) => {
    stderr += text;
  });
  // A program that could not be started has ended too: a rejection would reach tests that do not wait for the end.
  const exited = new Promise<Exit>((resolve) => {
    child.once("error", (error) => resolve({ code: null, signal: null, stderr: `${stderr}${error.message}` }));
    child.once("close", (code, signal) => resolve({ code, signal, stderr }));
  });
  return {
    pid: child.pid ?? 0,
    get output() {
      return output;
    },
    exited,
    signal: (name) => void child.kill(name),
    async kill() {
      child.kill("SIGKILL");
      await exited;
    },
  };
}

/** The file as written by this very process. */
async function daemonFile(dir: string, daemon: DaemonProcess): Promise<DaemonFile> {
  let found: DaemonFile | null = null;
  let exit: Exit | null = null;
  void daemon.exited.then((how) => {
    exit = how;
  });
  await waitUntil(
    `the daemon of ${dir} is up`,
    async () => {
      if (exit !== null) throw new Error(`the daemon ended: ${JSON.stringify(exit)}\n${daemon.output}`);
      const file = await readDaemonFile(dir).catch(() => null);
      if (file === null || !isSameProcess(file) || file.pid !== daemon.pid) return false;
      found = file;
      return true;
    },
    20_000,
  );
  if (found === null) throw new Error("unreachable: the wait ends with the file");
  return found;
}
