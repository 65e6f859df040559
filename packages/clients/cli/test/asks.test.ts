import { existsSync } from "node:fs";
import { join } from "node:path";
import { aegisProject } from "@aegis/test/helpers/aegis.ts";
import { waitUntil } from "@aegis/test/helpers/wait-until.ts";
import { expect, it } from "vitest";

type Asks = { asks: { id: string; session: string; options: string[]; question: string }[] };

const files = { ".aegis.yaml": "agents:\n  careful: { harness: scripted, permission: auto }\n" };

it("shows what an agent asks, refuses other answers, and lets it go on", async () => {
  const project = await aegisProject(files);
  expect((await project.aegis("asks")).stdout).toBe("No ask is open.\n");
  await project.aegis("spawn", "--handle", "brave-planck");
  const waiting = project.start("send", "brave-planck", "write a report", "--wait");
  await waitUntil("the agent asks", () => waiting.output.stderr.includes("answer with: aegis answer ask_"));
  const { asks } = await project.json<Asks>("asks");
  expect(asks).toMatchObject([{ options: ["allow", "always", "deny"] }]);
  expect((await project.aegis("asks")).stdout).toContain("brave-planck (offline)");
  const other = await project.aegis("answer", "brave-planck", "perhaps");
  expect(other.code).toBe(2);
  expect(other.stderr).toContain("allow, always, deny");
  expect(existsSync(join(project.root, "aegis-report.md"))).toBe(false);

  expect((await project.aegis("answer", "brave-planck", "allow")).code).toBe(0);
  expect((await waiting.ended).code).toBe(0);
  expect(existsSync(join(project.root, "aegis-report.md"))).toBe(true);
  expect((await project.aegis("answer", "brave-planck", "allow")).code).toBe(1);
  expect((await project.aegis("answer", asks[0]?.id ?? "", "deny")).code).toBe(1);
});

it("says that a word names neither an ask nor a session", async () => {
  const project = await aegisProject(files);
  for (const command of [
    ["ask", "show", "nope"],
    ["answer", "no-such", "allow"],
  ]) {
    const { code, stderr } = await project.aegis(...command);
    expect(code).toBe(1);
    expect(stderr).toMatch(/no ask and no session "no[\w-]+"\n {2}no ask is open; aegis asks --all lists/);
  }
});

it("tells the agent why it was denied", { tags: "slow" }, async () => {
  const project = await aegisProject(files);
  await project.aegis("spawn", "--handle", "brave-planck");
  const waiting = project.start("send", "brave-planck", "write a report", "--wait");
  await waitUntil("the agent asks", () => waiting.output.stderr.includes("answer with: aegis answer ask_"));
  expect((await project.aegis("answer", "brave-planck", "deny", "not", "on a Friday")).code).toBe(0);
  await waiting.ended;
  expect((await project.aegis("history", "brave-planck")).stdout).toContain("not on a Friday");
});

it("lets a chat answer", async () => {
  const project = await aegisProject(files);
  const chat = project.start("chat");
  chat.child.stdin.write("write a report\n");
  await waitUntil("the agent asks", () => chat.output.stderr.includes("/answer allow, always, deny"));
  chat.child.stdin.end("/answer deny\n");
  expect((await chat.ended).code).toBe(0);
  expect(existsSync(join(project.root, "aegis-report.md"))).toBe(false);
});
