/** A daemon that does not answer is reported once; one that is busy with a single call is not. */

import type { Client } from "@aegis/client/client.ts";
import { fakeClock } from "@aegis/test/helpers/fake-clock.ts";
import { expect, it } from "vitest";
import { reportingSilence } from "../src/daemon/connection.ts";

function bench(probe: () => Promise<unknown>) {
  const clock = fakeClock();
  const reported: number[] = [];
  const answer = Promise.withResolvers<never>();
  const client: Client = { url: "", call: () => answer.promise, open: () => answer.promise };
  const report = (seconds: number) => void reported.push(seconds);
  return { clock, reported, answer, client: reportingSilence(client, { probe, report, clock }) };
}

it("reports a daemon that answers neither the call nor the check, once", async () => {
  const { client, clock, reported, answer } = bench(() => new Promise(() => {}));
  const calls = Promise.allSettled([client.call("health"), client.open("health")]);
  await clock.sleepers(2);
  await clock.advance(14_999);
  expect(reported).toEqual([]);
  await clock.advance(1);
  expect(reported).toEqual([15]);
  answer.reject(new Error("over"));
  expect((await calls).map(({ status }) => status)).toEqual(["rejected", "rejected"]);
  expect(clock.sleeping).toBe(0);
});

it("reports nothing while the daemon answers the check, or is gone", async () => {
  for (const probe of [async () => ({}), () => Promise.reject(new Error("refused"))]) {
    const { client, clock, reported, answer } = bench(probe);
    const call = client.call("health").catch(() => {});
    await clock.sleepers(1);
    await clock.advance(60_000);
    expect(reported).toEqual([]);
    answer.reject(new Error("over"));
    await call;
  }
});

it("checks nothing when the answer comes in time", async () => {
  let probes = 0;
  const { client, clock, answer } = bench(async () => ++probes);
  const call = client.call("health").catch(() => {});
  await clock.sleepers(1);
  await clock.advance(9_999);
  answer.reject(new Error("over"));
  await call;
  await clock.advance(60_000);
  expect(probes).toBe(0);
  expect(clock.sleeping).toBe(0);
});
