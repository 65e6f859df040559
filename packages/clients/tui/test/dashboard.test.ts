/** Every action of the dashboard, pressed on a terminal, with a real daemon. */

import type { AegisProject } from "@aegis/test/helpers/aegis.ts";
import { delegating } from "@aegis/test/helpers/projects/subagents.ts";
import { type App, keys, openApp } from "@aegis/test/helpers/terminal-app.ts";
import { waitUntil } from "@aegis/test/helpers/wait-until.ts";
import { describe, expect, it } from "vitest";

const plugin = `
import { workflow } from "aegis";

export const asks = workflow("asks", async (engine) => {
  const said = await engine.askHuman("Which way?", { options: ["left", "right"] });
  return "went " + said;
});
export const fails = workflow("fails", async (engine) => {
  engine.log("first line of the log");
  await engine.checkpoint("one", {});
  throw new Error("tests still failing");
});
export const waits = workflow("waits", async (engine) => {
  await engine.sleep(100_000);
});
`;
const files = {
  ...delegating,
  ".aegis/plugins/mine.ts": plugin,
  ".aegis.yaml": [
    delegating[".aegis.yaml"],
    "queues:",
    "  review: { agent: dev }",
    "schedules:",
    '  nightly: { agent: dev, prompt: check, cron: "0 2 * * *" }',
    "",
  ].join("\n"),
};
const size = { columns: 110, rows: 40 };

/** Shows only the rows with this word, so that the first of them is selected. */
async function only({ pty, shows, hides }: App, word: string, row = word): Promise<void> {
  pty.type("/");
  await shows("Show only rows with");
  pty.type(`\u0015${word}\r`);
  await hides("Show only rows with");
  // Lists arrive after the screen opens; a key before that has no row to act on.
  await shows(new RegExp(`▸ .*${row}`));
}

async function dashboard(project: (one: AegisProject) => Promise<unknown>): Promise<App> {
  const app = await openApp({ files, ...size, prepare: project });
  app.pty.type(keys.ctrlD);
  await app.shows("QUEUES");
  return app;
}

describe("the dashboard", () => {
  it("cancels and retries a task, adds one, pauses and resumes a queue, and removes an added one", {
    tags: "slow",
  }, async () => {
    const app = await dashboard(async (one) => {
      await one.aegis("up");
      expect((await one.aegis("queue", "add", "extra", "helper")).code).toBe(0);
    });
    const { project, pty, shows, hides, open } = app;
    const statusOf = async (payload: string) => {
      const { tasks } = await project.json<{ tasks: { payload: string; status: string }[] }>("task", "list");
      return tasks.find((task) => task.payload === payload)?.status;
    };
    await only(app, "review");
    pty.type("p");
    await shows("‖ paused");
    pty.type("n");
    await shows("New task for review");
    pty.type("hold it\r");
    await shows(/1 \S+ review · from you · hold it/);
    pty.type("p");
    await hides("‖ paused");
    await shows(/▶ \S+ review · worker/);
    await only(app, "hold", "review");
    await shows(`/hold`);
    pty.type("x");
    await shows("Cancel the task");
    pty.type("y");
    await shows(/RECENT\n▸ ⊘ \S+ review/);
    expect(await statusOf("hold it")).toBe("cancelled");
    pty.type("r");
    await shows(/IN-FLIGHT\n▸ ▶ \S+ review/);
    await open("it");
    await shows(/RECENT\n▸ ✓ \S+ review · .* released it/);
    await shows(/DETAIL[\s\S]*\bunverified\b/);
    pty.type("v");
    await shows(/lines 1 to \d+ of/);
    pty.type(keys.escape);
    await hides(/lines 1 to/);
    await project.aegis("queue", "enqueue", "review", "hello checks", "--check", "echo fine", "--wait");
    await only(app, "hello checks", "review");
    await shows(/DETAIL[\s\S]*\bverified\b[\s\S]*check `echo fine` passed/);
    await only(app, "extra");
    pty.type("D");
    await shows("Remove the queue extra?");
    pty.type("y");
    await hides("agent helper");
    const { queues } = await project.json<{ queues: { name: string }[] }>("queue", "list");
    expect(queues.map(({ name }) => name)).toEqual(["review"]);
  });

  it("answers, cancels, resumes and forks a run, and shows its log", { tags: "slow" }, async () => {
    const app = await dashboard(async (one) => {
      await one.aegis("up");
      for (const name of ["asks", "fails", "waits"]) await one.aegis("workflow", "run", name, "--detach");
    });
    const { project, pty, shows, hides } = app;
    await only(app, "asks");
    await shows(/▸ \? asks \S+ · host \S+ · awaiting reply · /);
    pty.type("a");
    await shows("Which way?");
    await shows("NEEDS YOU  1");
    pty.type("2");
    await shows("NEEDS YOU  0");
    pty.type(keys.ctrlD);
    await shows(/✓ asks \S+ · host \S+ · ok · .*\n +→ went right/);
    await only(app, "waits");
    await shows(/▸ ▶ waits \S+ · host \S+ · running/);
    pty.type("x");
    await shows("Cancel the run of waits?");
    pty.type("n");
    await hides("Cancel the run of waits?");
    await shows(/▶ waits/);
    pty.type("x");
    await shows("Cancel the run of waits?");
    pty.type(keys.enter);
    await shows(/⊘ waits \S+ · host \S+ · cancelled/);
    pty.type("R");
    await shows(/▶ waits \S+ · host \S+ · running/);
    await only(app, "fails");
    await shows(/✗ fails \S+ · host \S+ · error · .*\n +→ \S+: tests still failing/);
    pty.type("l");
    await shows("first line of the log");
    pty.type(keys.escape);
    await hides("first line of the log");
    pty.type("f");
    await shows(/(✗ fails[\s\S]*){2}/);
    const { runs } = await project.json<{ runs: { workflow: string }[] }>("workflow", "status");
    expect(runs.filter(({ workflow }) => workflow === "fails")).toHaveLength(2);
  });

  it("runs, switches and removes a schedule, and shows its firings", { tags: "slow" }, async () => {
    const app = await dashboard((one) => one.aegis("up"));
    const { project, pty, shows, hides } = app;
    await only(app, "nightly");
    await shows(/DETAIL {2}schedule nightly[\s\S]*02:00Z/);
    pty.type("r");
    await shows("fired");
    pty.type("l");
    await shows(/firings of nightly[\s\S]* by hand/);
    pty.type(keys.escape);
    await hides("firings of nightly");
    const stateOf = async () => {
      const { schedules } = await project.json<{ schedules: { state: string }[] }>("schedule", "list");
      return schedules[0]?.state;
    };
    pty.type("p");
    await waitUntil("it is off", async () => (await stateOf()) === "off");
    await shows(/schedule nightly · session of dev +off/);
    pty.type("p");
    await shows(/schedule nightly · session of dev +in /);
    pty.type("D");
    await shows("Remove the schedule nightly?");
    pty.type("y");
    await hides("schedule nightly ");
    expect(await stateOf()).toBeUndefined();
  });

  it("kills a subagent, and closes its session", { tags: "slow" }, async () => {
    const app = await dashboard((one) => one.aegis("up"));
    const { project, pty, shows, hides } = app;
    await project.aegis("spawn", "dev", "--handle", "calm-galois");
    await project.aegis("send", "calm-galois", "spawn first with hold never");
    await project.aegis("send", "calm-galois", "spawn second with hold never");
    await shows("subagent second");
    await only(app, "first");
    await shows(/▸ ▶ subagent first · of calm-galois/);
    pty.type("K");
    await shows("Kill the subagent first?");
    pty.type("y");
    await shows(/RECENT\n▸ ⊘ subagent first/);
    await only(app, "second");
    pty.type("c");
    await shows(/Close \S+\?/);
    pty.type("y");
    await hides(/IN-FLIGHT\n▸ ▶ subagent second/);
    pty.type(keys.f4);
    await shows("TEAM  1 session");
    pty.type("c");
    await shows("Close calm-galois?");
    pty.type("y");
    await shows("TEAM  0 sessions");
  });
});
