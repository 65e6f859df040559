/** `aegis acp` with acpx, a real ACP client that has another generation of the SDK than Aegis. */
import { spawn } from "node:child_process";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";
import { type AegisProject, aegisProject, cliPath } from "../helpers/aegis.ts";

const acpx = fileURLToPath(new URL("node_modules/acpx/dist/cli.js", import.meta.url));

const files = {
  ".aegis.yaml": `
default_agent: robot
agents:
  robot: { harness: scripted, playbook: robot.yaml, permission: write }
`,
  "robot.yaml": `
rules:
  - name: ask
    when: please write
    steps: [{ ask: "Write the file?", tool: write_report, save: verdict }, { say: "It was {verdict}." }]
  - name: rest
    when: always
    steps: [{ say: "You said: {text}" }]
`,
};

/** Runs acpx to its end; its exit code and what it printed. */
function run(at: AegisProject, ...args: string[]): Promise<{ code: number | null; out: string }> {
  const agent = `${process.execPath} ${cliPath} acp`;
  const argv = [acpx, "--agent", agent, "--cwd", at.root, "--ttl", "1", ...args];
  const child = spawn(process.execPath, argv, { cwd: at.root, env: at.env, stdio: ["ignore", "pipe", "pipe"] });
  let out = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding("utf8").on("data", (text: string) => {
      out += text;
    });
  }
  return new Promise((resolve) => child.once("close", (code) => resolve({ code, out })));
}

it("prompts, approves, denies and continues a session", async () => {
  const at = await aegisProject(files);
  const hello = await run(at, "exec", "good morning");
  expect(hello.out).toContain("You said: good morning");
  expect((await run(at, "--approve-all", "exec", "please write")).out).toContain("It was allowed.");
  expect((await run(at, "--deny-all", "exec", "please write")).out).toContain("It was denied.");
  expect((await run(at, "sessions", "new")).code).toBe(0);
  expect((await run(at, "prompt", "one")).out).toContain("You said: one");
  expect((await run(at, "prompt", "two")).out).toContain("You said: two");
});
