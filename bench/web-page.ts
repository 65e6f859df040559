/** Measures what a page does: the longest task while somebody scrolls, the delay of keys, and its memory. */
import { setTimeout as delay } from "node:timers/promises";
import type { Page } from "playwright-core";

/** A page as long as a transcript that runs no script. */
export const scrollable = `<div style="height:100000px;background:linear-gradient(white,grey)"></div>`;

const keyPauseMs = 60;

/** The longest task in milliseconds while the wheel turns up, and then down again; 0 if none took 50 ms. */
export async function longestTasks(page: Page, seconds: number): Promise<number> {
  await page.evaluate(`globalThis.tasks = [];
    globalThis.taskObserver = new PerformanceObserver((list) => tasks.push(...list.getEntries().map((it) => it.duration)));
    taskObserver.observe({ type: "longtask" })`);
  await page.mouse.move(500, 300);
  const until = performance.now() + seconds * 1_000;
  for (let turn = 0; performance.now() < until; turn++) {
    await page.mouse.wheel(0, turn % 40 < 30 ? -400 : 400);
    await delay(30);
  }
  return Number(await page.evaluate("taskObserver.disconnect(); Math.max(0, ...tasks)"));
}

/** Milliseconds from each key to the frame after it. */
export async function keyDelays(page: Page, field: string, count: number): Promise<number[]> {
  await page.bringToFront();
  await page.focus(field);
  await page.evaluate(`globalThis.watching?.abort();
    globalThis.watching = new AbortController();
    globalThis.delays = [];
    document.querySelector(${JSON.stringify(field)}).addEventListener("keydown", (event) => {
      // A message after the frame's callback comes when the frame is painted.
      requestAnimationFrame(() => {
        const { port1, port2 } = new MessageChannel();
        port1.onmessage = () => delays.push(performance.now() - event.timeStamp);
        port2.postMessage(null);
      });
    }, { signal: watching.signal })`);
  for (let key = 0; key < count; key++) {
    await page.keyboard.press(key % 6 === 5 ? "Space" : "a");
    await delay(keyPauseMs);
  }
  return (await page.evaluate("delays")) as number[];
}

/** After a collection, in megabytes. */
export async function heapOf(page: Page): Promise<number> {
  const session = await page.context().newCDPSession(page);
  await session.send("HeapProfiler.collectGarbage");
  await session.send("Performance.enable");
  const { metrics } = await session.send("Performance.getMetrics");
  await session.detach();
  return (metrics.find(({ name }) => name === "JSHeapUsedSize")?.value ?? 0) / 1e6;
}
