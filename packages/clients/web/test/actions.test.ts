/** Buttons that no other test of the web app presses: each is pressed once, and its effect is checked in the daemon. */

import { sharedBrowser } from "@aegis/test/helpers/browser.ts";
import { sharedDaemon } from "@aegis/test/helpers/project.ts";
import { createSession, endings, hasSaid, openAsk, say } from "@aegis/test/helpers/talk.ts";
import { waitUntil } from "@aegis/test/helpers/wait-until.ts";
import { describe, expect, it } from "vitest";
import { go, openWeb, violations } from "./pages.ts";
import { webProject } from "./web-project.ts";

const browser = sharedBrowser();
const shared = sharedDaemon({
  ...webProject,
  ".aegis/plugins/steps/plugin.toml": '[plugin]\nname = "steps"\nversion = "1.0.0"\n',
  ".aegis/plugins/steps/steps.ts": `import { workflow } from "aegis";
export const two = workflow("two", async (engine) => {
  await engine.checkpoint("first", {});
  await engine.askHuman("What next?");
  return "done";
});
`,
});

async function openPage(place: string) {
  const opened = await openWeb(browser, shared.daemon);
  await go(opened.page, place);
  return opened;
}

describe("a session", () => {
  it("is stopped, and an ask is denied or answered in words", { tags: "slow" }, async () => {
    const { client } = shared.daemon;
    const session = await createSession(client);
    await say(client, session.id, "hold forever");
    await hasSaid(client, session.id, "holding forever");
    const { page } = await openPage(`#/s/${session.id}`);
    await page.getByRole("button", { name: "Stop" }).click();
    await waitUntil("the turn has ended", async () => (await endings(client, session.id)).includes("cancelled"));
    await say(client, session.id, "may you jump");
    await page.locator(".desk form.ask").getByRole("button", { name: "Deny" }).click();
    await page.locator(".desk form.ask").waitFor({ state: "detached" });
    await hasSaid(client, session.id, "denied: jump");
    await page.getByRole("button", { name: "Close", exact: true }).click();
    await page.getByRole("button", { name: "Keep" }).click();
    expect((await client.call("getSession", { path: { session: session.id } })).session.closed_at).toBeNull();
  });
});

describe("a task", () => {
  it("is cancelled and tried again", { tags: "slow" }, async () => {
    const { client } = shared.daemon;
    await client.call("pauseQueue", { path: { queue: "docs" } });
    const { task } = await client.call("enqueueTask", { path: { queue: "docs" }, body: { payload: "echo twice" } });
    const status = async () => (await client.call("getTask", { path: { task: task.id } })).task.status;
    const { page } = await openPage("#/queues");
    const row = page.locator("section[aria-label=Tasks] tr", { hasText: "echo twice" });
    await row.getByRole("button", { name: "Cancel" }).click();
    await row.getByRole("button", { name: "Retry" }).click();
    await row.getByRole("button", { name: "Cancel" }).waitFor();
    expect(await status()).toBe("pending");
    await client.call("resumeQueue", { path: { queue: "docs" } });
    await row.getByText("completed").waitFor();
  });
});

describe("a run", () => {
  it("is answered, forked from its checkpoint, cancelled and resumed", { tags: "slow" }, async () => {
    const { client } = shared.daemon;
    const { run } = await client.call("startRun", { path: { workflow: "two" }, body: {} });
    await openAsk(client);
    const { page } = await openPage(`#/workflows/${run.id}`);
    const status = async (id: typeof run.id) => (await client.call("getRun", { path: { run: id } })).run.status;
    await page.getByRole("button", { name: "Fork" }).click();
    await page.waitForURL((url) => url.hash.startsWith("#/workflows/") && !url.hash.endsWith(run.id));
    const fork = decodeURIComponent(new URL(page.url()).hash.split("/")[2] ?? "") as typeof run.id;
    await page.getByRole("button", { name: "Cancel" }).click();
    await page.getByText("cancelled").first().waitFor();
    expect(await status(fork)).toBe("cancelled");
    await page.getByRole("button", { name: "Resume" }).click();
    await waitUntil("the fork runs again", async () => (await status(fork)) === "running");

    await go(page, `#/workflows/${run.id}`);
    const form = page.locator("form.ask", { hasText: "What next?" });
    await form.getByLabel("Your answer").fill("the end");
    await form.getByRole("button", { name: "Answer" }).click();
    await waitUntil("the run has ended", async () => (await status(run.id)) === "ok");
  });
});

describe("the team", () => {
  it("is zoomed, fitted, unfolded and followed live", { tags: "slow" }, async () => {
    const { client } = shared.daemon;
    await say(client, (await createSession(client)).id, "echo here");
    const { page, errors } = await openPage("#/team");
    await page.waitForSelector(".surface canvas");
    const live = page.getByRole("button", { name: "Live" });
    await page.getByRole("button", { name: "Zoom in" }).click();
    await page.getByRole("button", { name: "Zoom out" }).click();
    await page.getByRole("button", { name: "Fit" }).click();
    const fold = page.getByRole("button", { name: "Fold idle time" });
    const before = await fold.getAttribute("aria-pressed");
    await fold.click();
    expect(await fold.getAttribute("aria-pressed")).not.toBe(before);
    await live.click();
    expect(await live.getAttribute("aria-pressed")).toBe("true");
    expect(errors).toEqual([]);
  });
});

it("reaches the rarer views of a phone through one entry, by pointer and by keyboard", async () => {
  const { page } = await openWeb(browser, shared.daemon, { viewport: { width: 390, height: 844 } });
  const bar = page.getByRole("navigation", { name: "Views" });
  const more = bar.getByRole("button", { name: "More" });
  const names = () => bar.getByRole("link").allTextContents();
  const isWhole =
    "[...document.querySelectorAll('.rail, .rail a > span, .rail button > span')].every((it) => it.scrollWidth <= it.clientWidth + 1)";
  const common = ["Home", "Changes", "Team", "Workflows", "Queues"];
  await more.waitFor();
  expect((await names()).map((name) => name.replace(/\d+ open asks/, ""))).toEqual(common);
  await more.click();
  expect(await names()).toHaveLength(10);
  expect(await violations(page)).toEqual([]);
  await bar.getByRole("link", { name: "Costs" }).click();
  await page.getByRole("heading", { name: "Costs" }).waitFor();
  expect(await more.getAttribute("aria-expanded")).toBe("false");
  expect(await more.getAttribute("aria-current")).toBe("true");
  expect(await page.evaluate(isWhole)).toBe(true);

  await more.press("Enter");
  await bar.getByRole("link", { name: "Costs" }).waitFor();
  await page.keyboard.press("Tab");
  await page.keyboard.press("Escape");
  await bar.getByRole("link", { name: "Costs" }).waitFor({ state: "detached" });
  expect(await more.evaluate((it) => it.matches(":focus"))).toBe(true);
  await more.press("Enter");
  await bar.getByRole("link", { name: "Costs" }).waitFor();
  await page.keyboard.press("Tab");
  await page.keyboard.press("Enter");
  await page.waitForURL(/#\/schedules$/);
  await more.click();
  await bar.getByRole("link", { name: "Events" }).waitFor();
  await page.mouse.click(100, 200);
  await bar.getByRole("link", { name: "Events" }).waitFor({ state: "detached" });
  await page.setViewportSize({ width: 1280, height: 800 });
  await bar.getByRole("link", { name: "Events" }).waitFor();
  expect(await more.count()).toBe(0);
});
