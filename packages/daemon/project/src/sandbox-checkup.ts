/** Whether this machine can confine programs, and whether the project asks for it. Needs no daemon. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Environment } from "@aegis/lib/child-env.ts";
import { systemClock } from "@aegis/lib/clock.ts";
import { silentLogger } from "@aegis/lib/log.ts";
import { createProcesses } from "@aegis/lib/process.ts";
import { createBubblewrap } from "@aegis/sandbox/bubblewrap/bubblewrap.ts";
import type { SandboxReport } from "@aegis/sandbox/sandbox.ts";
import { harnessNames } from "./checkup.ts";
import { loadConfig } from "./config/load.ts";

export type SandboxCheckup = {
  report: SandboxReport;
  /** What must be confined: the project's programs, and agents of the configuration. */
  needed: string[];
};

export async function checkSandbox(root: string, env: Environment): Promise<SandboxCheckup> {
  const { config } = await loadConfig({ cwd: root, harnesses: harnessNames(root, env) });
  const agents = Object.entries(config?.agents ?? {}).filter(([, { sandbox }]) => (sandbox ?? "off") !== "off");
  const project = config === null || config.sandbox === "off" ? [] : ["the project"];
  return { report: await reportOf(env), needed: [...project, ...agents.map(([slug]) => `agent ${slug}`)] };
}

async function reportOf(env: Environment): Promise<SandboxReport> {
  const folder = await mkdtemp(join(tmpdir(), "aegis-sandbox-"));
  const processes = createProcesses({ ledgerFile: null, owner: folder, clock: systemClock, log: silentLogger });
  try {
    return await createBubblewrap({ processes, env, scratch: join(folder, "probe") }).report();
  } finally {
    await processes.close();
    await rm(folder, { recursive: true, force: true });
  }
}
