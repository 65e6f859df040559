/** What pages show when something is missing, long or narrow: a daemon that is away, empty projects, phones. */

import { sharedBrowser } from "@aegis/test/helpers/browser.ts";
import { sharedDaemon, testProject } from "@aegis/test/helpers/project.ts";
import { createSession, openAsk, talk } from "@aegis/test/helpers/talk.ts";
import { describe, expect, it } from "vitest";
import { go, openWeb, violations } from "./pages.ts";
import { webLink, webProject } from "./web-project.ts";

const browser = sharedBrowser();
const shared = sharedDaemon({
  ...webProject,
  ".aegis/plugins/forms/plugin.toml": '[plugin]\nname = "forms"\nversion = "1.0.0"\n',
  ".aegis/plugins/forms/forms.ts": `import { workflow, z } from "aegis";
export const publish = workflow(
  "publish",
  { input: z.object({ level: z.enum(["minor", "major"]), files: z.array(z.string()), dry: z.boolean().default(true) }) },
  async (engine, input) => {
    await engine.checkpoint("ready", {});
    await engine.askHuman("Publish " + JSON.stringify(input) + "?");
    return "done";
  },
);
`,
});
const phone = { viewport: { width: 390, height: 844 } };
const handle = "extraordinarily-unpronounceable-constantinopolitan";

it("loads a view that was opened while the daemon was away, when the daemon is back", { tags: "slow" }, async () => {
  const project = await testProject(webProject);
  const first = await project.start();
  const session = await createSession(first.client);
  await talk(first.client, session.id, "before");
  const places = [
    ["#/queues", "section[aria-label=Queues]"],
    ["#/team", ".surface canvas"],
    ["#/events", ".events li"],
    [`#/s/${session.id}`, ".transcript, .row .markdown"],
  ] as const;
  const pages = await Promise.all(
    places.map(async ([place, ready]) => {
      const { page } = await browser.open(await webLink(first.client));
      await page.waitForSelector(".shell");
      // Loads the code of the view, and leaves it again.
      await go(page, place);
      await page.waitForSelector(ready);
      await go(page, "#/");
      await page.waitForSelector(".home");
      return { page, place, ready };
    }),
  );
  await first.kill();
  for (const { page, place } of pages) {
    await page.getByText("Cut off from the daemon since").waitFor();
    await go(page, place);
    await page.locator(".problem", { hasText: "no daemon answers" }).waitFor();
  }
  await project.start();
  for (const { page, ready } of pages) {
    await page.waitForSelector(ready);
    expect(await page.locator(".problem").count()).toBe(0);
  }
});

describe("a long handle", () => {
  it.each([["a desktop", {}] as const, ["a phone", phone] as const])(
    "leaves the buttons of the session in view on %s",
    async (_, options) => {
      const { client } = shared.daemon;
      const found = (await client.call("listSessions")).sessions.find((one) => one.handle === handle);
      const { id } = found ?? (await createSession(client, { handle, title: "A title that is long as well, nearly" }));
      const { page } = await openWeb(browser, shared.daemon, options);
      await go(page, `#/s/${id}`);
      const head = await page.locator(".session-head").boundingBox();
      for (const name of ["Changes", "Rename", "Fork", "Close"]) {
        const button = page.locator(".session-head .buttons > *", { hasText: name });
        const box = await button.boundingBox();
        expect((box?.x ?? 0) + (box?.width ?? 0), name).toBeLessThanOrEqual((head?.x ?? 0) + (head?.width ?? 0));
      }
    },
  );
});

it("shows the facts of a session on a phone", async () => {
  const session = await createSession(shared.daemon.client, { agent: "reviewer" });
  const { page } = await openWeb(browser, shared.daemon, phone);
  await go(page, `#/s/${session.id}`);
  const facts = page.locator(".facts-fold");
  await facts.locator("summary").click();
  await facts.getByText(session.id).waitFor();
  expect(await facts.locator("dd").allTextContents()).toContain("reviewer");
  expect(await violations(page)).toEqual([]);
});

it.each([["a desktop", {}] as const, ["a phone", phone] as const])(
  "shows past firings and the next slots in a calendar on %s",
  async (_, options) => {
    const { client } = shared.daemon;
    const { firing } = await client.call("runSchedule", { path: { schedule: "nightly" }, body: {} });
    const { page } = await openWeb(browser, shared.daemon, options);
    await go(page, "#/schedules");
    const calendar = page.getByRole("region", { name: "Calendar" });
    const title = (await calendar.getByRole("heading").textContent()) ?? "";
    await calendar.locator(".day[aria-current=date] .slot.ok", { hasText: firing.schedule }).waitFor();
    await calendar.getByRole("button", { name: "Next month" }).click();
    await calendar.locator(".day:not(.outside) .slot.planned", { hasText: "nightly" }).first().waitFor();
    expect(await calendar.getByRole("heading").textContent()).not.toBe(title);
    await calendar.getByRole("button", { name: "Today" }).click();
    expect(await calendar.getByRole("heading").textContent()).toBe(title);
    expect(await violations(page)).toEqual([]);
  },
);

it("makes a form from the schema of a workflow, and forks a run from the place that a person chooses", {
  tags: "slow",
}, async () => {
  const { client } = shared.daemon;
  const { page } = await openWeb(browser, shared.daemon);
  await go(page, "#/workflows");
  const row = page.locator("section[aria-label=Workflows] tr", { hasText: "publish" });
  await row.getByRole("button", { name: "Start" }).click();
  const form = page.getByRole("form", { name: "Start publish" });
  await form.getByLabel("level").selectOption("major");
  await form.getByLabel("files").fill("a.md\n\n b.md ");
  await form.getByLabel("dry").selectOption("false");
  await form.getByRole("button", { name: "Start" }).click();
  await page.getByRole("heading", { name: "publish" }).waitFor();
  const ask = await openAsk(client);
  expect(ask.question).toBe('Publish {"level":"major","files":["a.md","b.md"],"dry":false}?');
  const from = page.getByLabel("Fork from");
  await from.locator("option", { hasText: "after checkpoint ready" }).waitFor({ state: "attached" });
  expect(await from.locator("option").allTextContents()).toEqual(["from the start", "after checkpoint ready"]);
  const original = page.url();
  await from.selectOption("from the start");
  await page.getByRole("button", { name: "Fork" }).click();
  await page.waitForURL((url) => url.href !== original);
  await page.getByText("fork of another run").waitFor();
  const { runs } = await client.call("listRuns");
  for (const run of runs) await client.call("cancelRun", { path: { run: run.id }, body: {} });
});

it("finds agents, queues, workflows, skills and commands, and starts a session of the agent that was found", async () => {
  const { client } = shared.daemon;
  const { page } = await openWeb(browser, shared.daemon);
  await page.keyboard.press("Control+k");
  const box = page.getByRole("combobox");
  for (const [typed, kind] of [
    ["docs", "queue"],
    ["review_branch", "workflow"],
    ["forms", "plugin"],
  ] as const) {
    await box.fill(`${kind} ${typed}`);
    await page.locator(".search a", { hasText: new RegExp(`^${kind} ?${typed}`) }).waitFor();
  }
  await box.fill("agent reviewer");
  await page.getByRole("option", { name: "agent reviewer Reviews changes" }).waitFor();
  await page.getByRole("option", { name: "agent reviewer Reviews changes" }).click();
  await page.getByPlaceholder("Ask reviewer to do something").fill("echo from the page of the agent");
  await page.getByRole("button", { name: "Start" }).click();
  await page.locator(".markdown", { hasText: "from the page of the agent" }).waitFor();
  const id = decodeURIComponent(new URL(page.url()).hash.split("/")[2] ?? "");
  expect((await client.call("getSession", { path: { session: id } })).session.agent).toBe("reviewer");
});

it("says what is missing in a project without anything", { tags: "slow" }, async () => {
  const project = await testProject({ ".aegis.yaml": "default_agent: dev\nagents:\n  dev: { harness: scripted }\n" });
  const { client } = await project.start();
  const { page } = await browser.open(await webLink(client));
  await page.waitForSelector(".shell");
  for (const [place, text] of [
    ["#/team", "No session has worked yet."],
    ["#/changes", "No open session has changed a file."],
    ["#/queues", "Declare one with aegis config queue add."],
    ["#/schedules", "Declare one with aegis schedule add."],
    ["#/groups", "Start one with aegis group spawn."],
    ["#/costs", "No turn began in this time."],
    ["#/costs?by=queue", "No turn in this time was started by a queue."],
  ] as const) {
    await go(page, place);
    await page.locator(".empty", { hasText: text }).waitFor();
    expect(await page.getByRole("heading").count(), place).toBeGreaterThan(0);
  }
});
