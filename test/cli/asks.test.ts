import { existsSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { aegisProject } from "../helpers/aegis.ts";
import { waitUntil } from "../helpers/wait-until.ts";

type Asks = { asks: { id: string; session: string; options: string[]; question: string }[] };

const files = { ".aegis.yaml": "agents:\n  careful: { harness: scripted, permission: auto }\n" };

it("shows what an agent asks, refuses other answers, and lets it go on", async () => {
  const project = await aegisProject(files);
  expect((await project.aegis("asks")).stdout).toBe("Nobody waits for an answer.\n");
  await project.aegis("spawn", "--handle", "brave-hopper");
  const waiting = project.start("send", "brave-hopper", "write a report", "--wait");
  await waitUntil("the agent asks", () => waiting.output.stderr.includes("answer with: aegis answer ask_"));
  const { asks } = await project.json<Asks>("asks");
  expect(asks).toMatchObject([{ options: ["allow", "always", "deny"] }]);
  expect((await project.aegis("asks")).stdout).toContain("brave-hopper (offline)");
  const other = await project.aegis("answer", "brave-hopper", "perhaps");
  expect(other.code).toBe(2);
  expect(other.stderr).toContain("allow, always, deny");
  expect(existsSync(join(project.root, "aegis-report.md"))).toBe(false);

  expect((await project.aegis("answer", "brave-hopper", "allow")).code).toBe(0);
  expect((await waiting.ended).code).toBe(0);
  expect(existsSync(join(project.root, "aegis-report.md"))).toBe(true);
  expect((await project.aegis("answer", "brave-hopper", "allow")).code).toBe(1);
  expect((await project.aegis("answer", asks[0]?.id ?? "", "deny")).code).toBe(1);
});

it("tells the agent why it was denied", async () => {
  const project = await aegisProject(files);
  await project.aegis("spawn", "--handle", "brave-hopper");
  const waiting = project.start("send", "brave-hopper", "write a report", "--wait");
  await waitUntil("the agent asks", () => waiting.output.stderr.includes("answer with: aegis answer ask_"));
  expect((await project.aegis("answer", "brave-hopper", "deny", "not", "on a Friday")).code).toBe(0);
  await waiting.ended;
  expect((await project.aegis("history", "brave-hopper")).stdout).toContain("not on a Friday");
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
