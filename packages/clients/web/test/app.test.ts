/** The web app in a real browser, against the built daemon with agents that need no model. */

import { sharedBrowser } from "@aegis/test/helpers/browser.ts";
import { sharedDaemon, testProject } from "@aegis/test/helpers/project.ts";
import { createSession, hasSaid, messages, openAsk, say, talk } from "@aegis/test/helpers/talk.ts";
import { waitUntil } from "@aegis/test/helpers/wait-until.ts";
import type { Page } from "playwright-core";
import { describe, expect, it } from "vitest";
import { go, openWeb, violations } from "./pages.ts";
import { webLink, webProject } from "./web-project.ts";

const browser = sharedBrowser();
const shared = sharedDaemon(webProject);

const openPage = (options?: Parameters<typeof browser.open>[1]) => openWeb(browser, shared.daemon, options);

describe("getting in", () => {
  it("leaves no code in the address and no token in the page", { tags: "slow" }, async () => {
    const { page, errors } = await openPage();
    expect(page.url()).toBe(`${shared.daemon.file.url}/`);
    expect(await page.evaluate("document.cookie")).toBe("");
    expect(await page.evaluate("JSON.stringify(localStorage) + document.documentElement.outerHTML")).not.toContain(
      shared.daemon.file.token,
    );
    await page.reload();
    await page.waitForSelector(".shell");
    expect(errors).toEqual([]);
  });

  it("tells a browser without access what to do", { tags: "slow" }, async () => {
    const { page } = await browser.open(`${shared.daemon.file.url}/`);
    await page.getByText("aegis web").waitFor();
    const used = await webLink(shared.daemon.client);
    const first = await browser.open(used);
    await first.page.waitForSelector(".shell");
    const second = await browser.open(used);
    await second.page.getByText("aegis web").waitFor();
  });

  it("ends the page of a revoked browser", async () => {
    const { page } = await openPage();
    const { browsers } = await shared.daemon.client.call("listBrowsers");
    await shared.daemon.client.call("revokeBrowser", { path: { browser: browsers[0]?.id ?? "" } });
    await page.getByText("access was revoked").waitFor();
  });
});

describe("home", () => {
  it("shows what needs a person, what works and what is done", async () => {
    const { client } = shared.daemon;
    const done = await createSession(client, { title: "Say hello" });
    await talk(client, done.id, "good morning");
    const works = await createSession(client, { title: "Hold on" });
    await say(client, works.id, "hold home");
    await hasSaid(client, works.id, "holding home");
    const { page, errors } = await openPage();
    const card = (column: string, handle: string) => page.locator(`#column-${column} .card`, { hasText: handle });
    await card("done", done.handle).getByText("you said: good morning").waitFor();
    await card("working", works.handle).waitFor();
    await shared.project.open("home");
    await card("done", works.handle).waitFor();
    expect(errors).toEqual([]);
  });

  it("answers an ask on the card, and the card leaves the other browser too", async () => {
    const { client } = shared.daemon;
    const session = await createSession(client);
    const [first, second] = [await openPage(), await openPage()];
    await say(client, session.id, "may you dance");
    const form = (page: Page) => page.locator("#column-needs .card", { hasText: session.handle }).locator("form.ask");
    await form(second.page).getByText("May I dance?").waitFor();
    expect((await openAsk(client)).session).toBe(session.id);
    await form(first.page).getByRole("button", { name: "Allow", exact: true }).click();
    await form(first.page).waitFor({ state: "detached" });
    await form(second.page).waitFor({ state: "detached" });
    await hasSaid(client, session.id, "allowed: dance");
  });

  it("starts a session from the first message", async () => {
    const { page } = await openPage();
    await page.getByLabel("Start a session with this message").fill("a brand new start");
    await page.keyboard.press("Enter");
    await page.locator(".markdown", { hasText: "you said: a brand new start" }).waitFor();
  });
});

describe("a session", () => {
  it("streams, folds thinking and tools, and sends by keyboard", { tags: "slow" }, async () => {
    const { client } = shared.daemon;
    const session = await createSession(client);
    const { page, errors, left } = await openPage();
    await go(page, `#/s/${session.id}`);
    const box = page.getByLabel(`Message to ${session.handle}`);
    await box.fill("consider the parser");
    await box.press("Enter");
    await page.locator(".markdown", { hasText: "Considered the parser." }).waitFor();
    expect(await page.locator("details.thinking").getAttribute("open")).toBeNull();
    await page.locator("details.tool summary").click();
    await page.locator("details.tool[open] pre").first().waitFor();
    await page.getByText("completed").waitFor();
    await box.fill(`stream ${"word ".repeat(60)}end`);
    await box.press("Enter");
    await page.locator(".markdown", { hasText: "end" }).waitFor();
    expect(await page.locator(".markdown", { hasText: "word word" }).count()).toBe(1);
    expect([errors, left]).toEqual([[], []]);
  });

  it("queues a message, takes it back, interrupts, renames, forks and closes", { tags: "slow" }, async () => {
    const { client } = shared.daemon;
    const session = await createSession(client);
    await say(client, session.id, "hold never");
    await hasSaid(client, session.id, "holding never");
    const { page } = await openPage();
    await go(page, `#/s/${session.id}`);
    const box = page.getByLabel(`Message to ${session.handle}`);
    await box.fill("later, please");
    await box.press("Enter");
    const waiting = page.locator(".waiting li", { hasText: "later, please" });
    await waiting.getByRole("button", { name: "Take back" }).click();
    await waiting.waitFor({ state: "detached" });
    expect((await messages(client, session.id)).map(({ status }) => status)).toEqual(["dispatched", "cancelled"]);

    await page.getByLabel("How the message is delivered").selectOption("interrupt");
    await box.fill("now");
    await box.press("Enter");
    await page.locator(".markdown", { hasText: "you said: now" }).waitFor();
    await page.getByText("cancelled").first().waitFor();

    await page.getByRole("button", { name: "Rename" }).click();
    await page.getByLabel("Handle").fill("deft-fermi");
    await page.getByLabel("Title").fill("Numbers");
    await page.getByRole("button", { name: "Save" }).click();
    await page.locator(".session-head", { hasText: "deft-fermi" }).getByRole("heading", { name: "Numbers" }).waitFor();

    // The offline agent cannot fork; the page says why.
    await page.getByRole("button", { name: "Fork" }).click();
    await page.getByText("cannot fork a conversation").waitFor();
    await page.getByRole("button", { name: "Close" }).click();
    await page.getByRole("button", { name: "Close it" }).click();
    await page.getByText("This session is closed.").waitFor();
  });

  it("attaches pasted images, and keeps what the harness refuses", async () => {
    const { client } = shared.daemon;
    const session = await createSession(client);
    const { page } = await openPage();
    await go(page, `#/s/${session.id}`);
    await page.getByLabel(`Message to ${session.handle}`).fill("look");
    await page.evaluate(`(() => {
      const bytes = Uint8Array.from(atob("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="), (c) => c.charCodeAt(0));
      const data = new DataTransfer();
      data.items.add(new File([bytes], "dot.png", { type: "image/png" }));
      document.querySelector(".composer textarea").dispatchEvent(new ClipboardEvent("paste", { clipboardData: data, bubbles: true }));
    })()`);
    await page.locator(".chip", { hasText: "dot.png" }).waitFor();
    await page.getByRole("button", { name: "Send" }).click();
    await page.getByText("which does not accept images").waitFor();
    expect(await page.locator(".composer .chip", { hasText: "dot.png" }).count()).toBe(1);
    await page.getByRole("button", { name: "Remove dot.png" }).click();
    await page.getByRole("button", { name: "Send" }).click();
    await page.locator(".markdown", { hasText: "you said: look" }).waitFor();
  });

  it("keeps few rows in the page and loads older ones when the reader goes there", { tags: "slow" }, async () => {
    const { client } = shared.daemon;
    const session = await createSession(client);
    for (let batch = 0; batch < 4; batch++) {
      const sent = [];
      for (let index = 0; index < 60; index++) sent.push(say(client, session.id, `echo row ${batch * 60 + index}`));
      await Promise.all(sent);
    }
    await waitUntil("the session is idle", async () => {
      const { session: view } = await client.call("getSession", { path: { session: session.id } });
      return view.state === "ready" && view.pending === 0;
    });
    const { page } = await openPage();
    await go(page, `#/s/${session.id}`);
    await page.waitForSelector(".markdown");
    expect(await page.locator(".row").count()).toBeLessThan(80);
    const before = Number(await page.evaluate(`document.querySelector(".spacer").offsetHeight`));
    await page.evaluate(`document.querySelector(".scroller").scrollTop = 0`);
    await waitUntil("older rows are there", async () => {
      await page.evaluate(`document.querySelector(".scroller").scrollTop = 0`);
      return Number(await page.evaluate(`document.querySelector(".spacer").offsetHeight`)) > before + 1000;
    });
    await page.getByRole("button", { name: "Newest" }).click();
    await page.locator(".markdown", { hasText: "row 239" }).waitFor();
  });
});

describe("work", () => {
  it("enqueues a task, shows its result, and pauses the queue", { tags: "slow" }, async () => {
    const { page, errors } = await openPage();
    await go(page, "#/queues");
    await page.getByLabel("Task", { exact: true }).fill("echo written by the worker");
    await page.getByRole("button", { name: "Enqueue" }).click();
    const task = page.locator("section[aria-label=Tasks] tr", { hasText: "written by the worker" });
    await task.getByText("completed").waitFor();
    await page.getByRole("button", { name: "Pause" }).click();
    await page.getByRole("button", { name: "Resume" }).click();
    await page.getByRole("button", { name: "Pause" }).waitFor();
    expect(errors).toEqual([]);
  });

  it("fires a schedule now and switches it off", { tags: "slow" }, async () => {
    const { page } = await openPage();
    await go(page, "#/schedules");
    await page.getByRole("button", { name: "Run now" }).click();
    const firing = page.locator("section[aria-label=Firings] tr", { hasText: "nightly" });
    await firing.getByText("ok", { exact: true }).waitFor();
    await page.getByRole("button", { name: "Disable" }).click();
    await page.getByRole("button", { name: "Enable" }).waitFor();
    await page.getByRole("button", { name: "Enable" }).click();
    await page.getByRole("button", { name: "Disable" }).waitFor();
  });

  it("asks a group and shows the replies side by side", { tags: "slow" }, async () => {
    const { client } = shared.daemon;
    await client.call("spawnGroup", { path: { group: "panel" }, body: { agents: ["dev", "reviewer"] } });
    const { page } = await openPage();
    await go(page, "#/groups");
    await page.getByLabel("Ask panel").fill("what is better");
    await page.getByRole("button", { name: "Ask" }).click();
    await waitUntil("both have replied", async () => (await page.locator(".replies .markdown").count()) === 2);
  });

  it("starts a workflow from a form and shows its steps", { tags: "slow" }, async () => {
    const { page } = await openPage();
    await go(page, "#/workflows");
    const row = page.locator("section[aria-label=Workflows] tr", { hasText: "review_branch" });
    await row.getByRole("button", { name: "Start" }).click();
    const form = page.getByRole("form", { name: "Start review_branch" });
    for (const field of await form.locator("input[required]").all()) await field.fill("main");
    await form.getByRole("button", { name: "Start" }).click();
    await page.getByRole("heading", { name: "review_branch" }).waitFor();
    await page.locator(".page-body .status").first().waitFor();
    await page.getByRole("button", { name: "Fork" }).waitFor();
  });

  it("draws who sent work to whom, and lists it for the keyboard", { tags: "slow" }, async () => {
    const { client } = shared.daemon;
    const [from, to] = [await createSession(client), await createSession(client)];
    await say(client, from.id, `hand parcel to ${to.handle} then hold drawn`);
    await shared.project.open("drawn");
    await hasSaid(client, to.id, "you said: parcel");
    const { page } = await openPage();
    await go(page, "#/team");
    const arrow = page.locator(".arrow-list a", { hasText: `${from.handle} to ${to.handle}, message, parcel` });
    await arrow.waitFor({ state: "attached" });
    await arrow.focus();
    await page.locator(".tip", { hasText: "parcel" }).waitFor();
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "Why this message" }).waitFor();
    const message = page.getByRole("region", { name: "The message" });
    await message.getByText("parcel", { exact: true }).waitFor();
    expect(await violations(page)).toEqual([]);
    await message.getByRole("link", { name: "Open the session that received it" }).click();
    await page.locator(".session-head", { hasText: to.handle }).waitFor();
  });

  it("filters the events", { tags: "slow" }, async () => {
    const { page } = await openPage();
    await go(page, "#/events");
    await page.getByLabel("Filter by type, session or text").fill("daemon.started");
    await waitUntil("one event is left", async () => (await page.locator(".events li").count()) === 1);
  });
});

describe("search and notifications", () => {
  it("opens with Ctrl+K, finds a session and goes there by keyboard", { tags: "slow" }, async () => {
    const { client } = shared.daemon;
    const session = await createSession(client, { title: "Quarterly figures" });
    const { page, errors } = await openPage();
    await page.keyboard.press("Control+k");
    const box = page.getByRole("combobox");
    await box.fill("quarterly");
    await page.getByRole("option", { name: session.handle }).waitFor();
    expect(await violations(page)).toEqual([]);
    await box.press("Enter");
    await page.locator(".session-head", { hasText: session.handle }).waitFor();
    expect(await page.getByRole("dialog").count()).toBe(0);
    expect(errors).toEqual([]);
  });

  it("notifies of asks while the page is hidden, once switched on", async () => {
    const { client } = shared.daemon;
    const session = await createSession(client);
    // Headless browsers have no notifications.
    const init = `
      globalThis.shown = [];
      globalThis.Notification = class { static permission = "granted"; static requestPermission = async () => "granted";
        constructor(title, options) { shown.push(title + ": " + options.body); } };
      Object.defineProperty(Document.prototype, "hidden", { get: () => true });`;
    const { page } = await openPage({ init });
    await say(client, session.id, "may you stay quiet");
    await page.locator("form.ask", { hasText: "May I stay quiet?" }).waitFor();
    expect(await page.evaluate("shown")).toEqual([]);
    await page.getByRole("button", { name: "Notify me" }).click();
    await page.getByRole("button", { name: "Notifications on" }).waitFor();
    const other = await createSession(client);
    await say(client, other.id, "may you speak");
    await waitUntil("the notification is there", async () => ((await page.evaluate("shown")) as string[]).length > 0);
    expect(await page.evaluate("shown")).toEqual(["may you speak asks: May I speak?"]);
  });
});

describe("a daemon that goes away", () => {
  it("is reported with its time, and the page resumes without doubles after kill -9", { tags: "slow" }, async () => {
    const project = await testProject(webProject);
    const first = await project.start();
    const session = await createSession(first.client);
    await talk(first.client, session.id, "before");
    const { page } = await browser.open(await webLink(first.client));
    await page.waitForSelector(".shell");
    await go(page, `#/s/${session.id}`);
    await page.locator(".markdown", { hasText: "you said: before" }).waitFor();
    await first.kill();
    await page.getByText("Cut off from the daemon since").waitFor();
    const second = await project.start();
    expect(second.file.url).toBe(first.file.url);
    await page.getByText("● live").waitFor();
    await talk(second.client, session.id, "after");
    await page.locator(".markdown", { hasText: "you said: after" }).waitFor();
    expect(await page.locator(".markdown", { hasText: "you said: before" }).count()).toBe(1);
    expect(await page.locator(".markdown", { hasText: "you said: after" }).count()).toBe(1);
  });
});

describe("every view", () => {
  const otherViews = [
    ["team", ".surface canvas"],
    ["workflows", "section[aria-label=Workflows]"],
    ["queues", "section[aria-label=Queues]"],
    ["schedules", "section[aria-label=Schedules]"],
    ["groups", ".page"],
    ["catalog", "section[aria-label=Agents]"],
    ["events", ".events li"],
  ] as const;
  const phone = { viewport: { width: 390, height: 844 } };

  it.each(["light", "dark"] as const)("has no accessibility violation in %s", async (colorScheme) => {
    const { client } = shared.daemon;
    const session = await createSession(client, { title: "Look at it" });
    await talk(client, session.id, "consider the view");
    await say(client, session.id, "may you look");
    await openAsk(client);
    const { page } = await openPage({ colorScheme });
    await page.waitForSelector("form.ask");
    expect(await violations(page)).toEqual([]);
    await go(page, `#/s/${session.id}`);
    await page.waitForSelector(".desk form.ask");
    await page.locator(".markdown", { hasText: "Considered the view." }).waitFor();
    expect(await violations(page)).toEqual([]);
    for (const [word, ready] of otherViews) {
      await go(page, `#/${word}`);
      await page.waitForSelector(ready);
      expect(await violations(page), word).toEqual([]);
    }
  });

  it("fits a phone", { tags: "slow" }, async () => {
    const { client } = shared.daemon;
    const session = await createSession(client, { title: "A rather long title for such a narrow screen" });
    await talk(
      client,
      session.id,
      "echo | a | b |\n|---|---|\n| a_very_long_word_without_a_break_that_goes_on_and_on | 2 |",
    );
    const { page } = await openPage(phone);
    const views = [["", ".home"], [`s/${session.id}`, ".composer"], ...otherViews] as const;
    for (const [place, ready] of views) {
      await go(page, `#/${place}`);
      await page.waitForSelector(ready);
      expect(await page.evaluate("document.documentElement.scrollWidth"), place).toBeLessThanOrEqual(390);
      // A table is no wider than the screen, so that the buttons of its rows are in view.
      const wide = "[...document.querySelectorAll('.table')].filter((it) => it.scrollWidth > it.clientWidth).length";
      expect(await page.evaluate(wide), place).toBe(0);
    }
    expect(await violations(page)).toEqual([]);
  });
});
