import { fakeClock } from "@aegis/test/helpers/fake-clock.ts";
import { expect, it } from "vitest";
import { type HookHandler, HookRoutes } from "../src/hook-routes.ts";

const request = { method: "POST", headers: new Headers(), bytes: async () => new Uint8Array() };

it("keeps a request until its channel starts, and sends it back if that takes too long", async () => {
  const clock = fakeClock(0);
  const ready = Promise.withResolvers<void>();
  let names = ["ci"];
  const routes = new HookRoutes({ clock, started: () => ready.promise, names: () => names });
  const mounted = new Map<string, HookHandler>();
  routes.open((name, handler) => {
    mounted.set(name, handler);
    return () => {};
  });
  const ci = mounted.get("ci") as HookHandler;

  const early = ci(request);
  await clock.advance(9_000);
  const answer = await early;
  expect([answer.status, answer.headers.get("retry-after")]).toEqual([503, "10"]);

  const waiting = ci(request);
  const remove = routes.add("ci", async () => new Response("stored"));
  ready.resolve();
  expect(await (await waiting).text()).toBe("stored");

  remove();
  expect((await ci(request)).status).toBe(503);
  names = [];
  await expect(ci(request)).rejects.toMatchObject({ code: "unauthorized" });
});
