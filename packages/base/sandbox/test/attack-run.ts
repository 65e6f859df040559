/** Runs the table of attacks in a folder, as the user who starts this program, and prints the outcome as JSON. */
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { systemClock } from "@aegis/lib/clock.ts";
import { Consent } from "@aegis/lib/consent.ts";
import { silentLogger } from "@aegis/lib/log.ts";
import { createProcesses } from "@aegis/lib/process.ts";
import { createBubblewrap } from "../src/bubblewrap/bubblewrap.ts";
import { createNetwork } from "../src/network/network.ts";
import { createPlaneDoor } from "../src/network/plane-door.ts";
import { type Attack, attacks, necessities } from "./attack-table.ts";
import { createWorld, policyOf, type World } from "./world.ts";

const [base = "", mode = ""] = process.argv.slice(2);
const processes = createProcesses({ ledgerFile: null, owner: base, clock: systemClock, log: silentLogger });
const env = { PATH: process.env.PATH ?? "", HOME: join(base, "home"), LANG: "C.UTF-8" };

const world = await createWorld(base);
const before = hostEntries(world);
const [attacked, needed] = [attacks(world), necessities(world, mode === "strict" ? "strict" : "workspace")];
const works = mode === "none" ? [] : await run(needed);
const open = await run(attacked);
const outcome = {
  failed: works.filter(({ code }) => code !== 0),
  open: open.filter(({ code }) => code === 0).map(({ title }) => title),
  datagrams: world.datagrams(),
  changed: ["bashrc", "hooks", "other"].filter((_, index) => hostEntries(world)[index] !== before[index]),
  left: leftOnHost(world),
};
world.close();
await processes.close();
process.stdout.write(`${JSON.stringify(outcome)}\n`);

type Ran = { title: string; code: number; output: string };

/** All scripts in one sandbox; the results come back in a file of the private `/tmp`. */
async function run(cases: readonly Attack[]): Promise<Ran[]> {
  const script = cases
    .map(({ script: one }, index) => {
      writeFileSync(join(world.tmp, `case-${index}.sh`), one);
      const file = mode === "none" ? join(world.tmp, `case-${index}.sh`) : `/tmp/case-${index}.sh`;
      return `cd ${world.project}; out=$(timeout 20 bash ${file} 2>&1 </dev/null | tail -c 300; exit \${PIPESTATUS[0]}); echo "== ${index} $? $out"`;
    })
    .join("\n");
  const command = { argv: ["/bin/bash", "-c", script] as [string, ...string[]], env, cwd: world.project };
  const child = await processes.start(mode === "none" ? command : await confine(command), Consent.grant("a test"));
  child.stdin.end();
  let output = "";
  for await (const chunk of child.stdout) output += Buffer.from(chunk).toString("utf8");
  await child.exited;
  await child.stop();
  const found = output
    .split(/^== /m)
    .slice(1)
    .map((part) => /^(\d+) (\d+) (.*)$/s.exec(part) ?? []);
  if (found.length !== cases.length) throw new Error(`not all ran: ${output.slice(-500)} ${child.stderrTail()}`);
  return found.map(([, index, code, said = ""]) => ({
    title: cases[Number(index)]?.title ?? "",
    code: Number(code),
    output: said,
  }));
}

async function confine(command: { argv: [string, ...string[]]; env: Record<string, string>; cwd: string }) {
  const sandbox = createBubblewrap({ processes, env: process.env, scratch: join(base, "probe") });
  const policy = await policyOf(world, mode === "strict" ? "strict" : "workspace");
  const network = createNetwork({
    hosts: policy.hosts,
    ports: policy.ports,
    doors: new Map([
      [world.ports.plane, createPlaneDoor({ url: `http://127.0.0.1:${world.ports.plane}/mcp`, token: "mine" })],
    ]),
    refusal: (host) => `${host} is not allowed`,
  });
  return sandbox.confine(command, policy, network);
}

function hostEntries({ home, project, other }: World): string[] {
  return [
    readFileSync(join(home, ".bashrc"), "utf8") + readdirSync(join(home, ".ssh")).join(),
    readdirSync(join(project, ".git/hooks")).join() + readFileSync(join(project, ".git/config"), "utf8"),
    readdirSync(other).join(),
  ];
}

/** What appeared in the project that no script of the table made. */
function leftOnHost({ project }: World): string[] {
  const known = [".aegis", ".aegis.yaml", ".git", ".gitignore", ".vscode", "hl", "keys", "l1", "src", "y"];
  return [...readdirSync(project), ...(existsSync(join(project, ".mcp.json")) ? [".mcp.json"] : [])].filter(
    (name) => !known.includes(name),
  );
}
