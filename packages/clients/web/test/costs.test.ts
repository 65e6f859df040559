/** Costs and load in a real browser, of native agents over a fake model. */
import { readFile } from "node:fs/promises";
import { sharedBrowser } from "@aegis/test/helpers/browser.ts";
import { nativeConfig } from "@aegis/test/helpers/fake-models/config.ts";
import { openaiChatWire } from "@aegis/test/helpers/fake-models/openai-chat.ts";
import { fakeModels } from "@aegis/test/helpers/fake-models/server.ts";
import { type Daemon, testProject } from "@aegis/test/helpers/project.ts";
import { createSession, talk } from "@aegis/test/helpers/talk.ts";
import { waitUntil } from "@aegis/test/helpers/wait-until.ts";
import { expect, it } from "vitest";
import { go, openWeb, violations } from "./pages.ts";

const browser = sharedBrowser();

async function spending(): Promise<Daemon> {
  const models = await fakeModels(openaiChatWire, () => ({ text: "done", usage: { input: 500, output: 250 } }));
  const config = nativeConfig(models, { more: "prices: { fake/one: { input: 1000, output: 2000 } }" });
  const project = await testProject({ ".aegis.yaml": config });
  return await project.start();
}

it("plots, compares, exports and follows what turns cost", { tags: "slow" }, async () => {
  const daemon = await spending();
  const { client } = daemon;
  const session = await createSession(client, { handle: "ada", title: "ada" });
  await talk(client, session.id, "one");
  const { page, errors, left } = await openWeb(browser, daemon);
  await page.getByRole("link", { name: "Costs" }).click();
  const totals = page.getByRole("region", { name: "Totals" });
  await totals.getByRole("row", { name: "dev $1.00 750 250 1" }).waitFor();
  // Live: another turn is counted without a reload.
  await talk(client, session.id, "two");
  await totals.getByRole("row", { name: "dev $2.00 1.5k 500 2" }).waitFor();

  const plot = page.getByRole("slider", { name: "Cost over time" });
  await plot.focus();
  await page.locator(".plot-tip", { hasText: ".00" }).waitFor();
  // A new day may have begun between the turns.
  const last = await plot.getAttribute("aria-valuetext");
  expect(last).toMatch(/: \$[12]\.00, dev \$[12]\.00$/);
  await page.keyboard.press("ArrowLeft");
  await waitUntil("another day is chosen", async () => (await plot.getAttribute("aria-valuetext")) !== last);
  await page.getByText("Values of the plot as a table").click();
  await page.getByRole("region", { name: "Cost by time" }).getByRole("cell", { name: ".00" }).first().waitFor();

  await page.getByLabel("Measure").selectOption("turns");
  await page.getByRole("slider", { name: "Turns over time" }).waitFor();
  await page.getByLabel("Group by").selectOption("model");
  await totals.getByRole("row", { name: "fake/one $2.00" }).waitFor();
  await page.getByLabel("Group by").selectOption("session");
  await totals.getByRole("link", { name: "ada" }).waitFor();
  await page.getByLabel("Time", { exact: true }).selectOption("day");
  const waiting = page.waitForEvent("download");
  await page.getByRole("button", { name: "Export CSV" }).click();
  const file = await waiting;
  expect(file.suggestedFilename()).toBe("aegis-usage-by-session.csv");
  const [head, ...rows] = (await readFile(await file.path(), "utf8")).trimEnd().split("\r\n");
  expect(head).toBe(
    "time,session,turns,errors,minutes,input,cache_read,cache_write,output,cost_usd,turns_of_unknown_cost",
  );
  const cells = rows.map((row) => row.split(","));
  const sum = (column: number) => cells.reduce((total, row) => total + Number(row[column]), 0);
  expect(cells.every((row) => row[1] === "ada")).toBe(true);
  expect([2, 3, 5, 8, 9].map(sum)).toEqual([2, 0, 1000, 500, 2]);
  await page.getByLabel("Group by").selectOption("queue");
  await page.getByText("No turn in this time was started by a queue.").waitFor();
  expect([errors, left]).toEqual([[], []]);

  for (const colorScheme of ["light", "dark"] as const) {
    await page.emulateMedia({ colorScheme });
    await go(page, "#/costs?by=session");
    await totals.getByRole("link", { name: "ada" }).waitFor();
    await plot.focus();
    expect(await violations(page)).toEqual([]);
  }
  await page.setViewportSize({ width: 390, height: 844 });
  await plot.waitFor();
  expect(await page.evaluate("document.documentElement.scrollWidth")).toBeLessThanOrEqual(390);
  expect(await violations(page)).toEqual([]);

  const bad = client.call("getUsage", { query: { bucket: "hour", from: 0, to: 5_000 * 3_600_000 } });
  await expect(bad).rejects.toMatchObject({ code: "invalid", message: expect.stringContaining("5000 hours") });
});
