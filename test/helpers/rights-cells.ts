/** Cells of the table of rights in docs/security.md. test/docs/security.test.ts checks that each cell has a test. */

import { newId } from "@aegis/contract/ids.ts";
import { expect, it } from "vitest";
import type { Daemon, Project } from "./project.ts";
import { type Seat, takeSeat } from "./projects/rights.ts";
import { scaled } from "./slowness.ts";

export type Column = "person" | "agent";

/** Declares the test of one cell. `row` is what is started, as the table names it. */
export function cell(row: string, column: Column, run: () => Promise<void>): void {
  it(`${row}, started by ${column === "person" ? "a person" : "an agent"}`, { timeout: scaled(60_000) }, run);
}

/** The session that was told to `hold <place>`: the test in its place, and what the API says about it. */
export async function standing(project: Project, daemon: Daemon, place: string) {
  const seat = await takeSeat(project, daemon, place, newId("ses", 1));
  const { text } = await seat.call("aegis_meta", {});
  const handle = /You are "([^"]+)"/.exec(text)?.[1] ?? "";
  const { session } = await daemon.client.call("getSession", { path: { session: handle } });
  return { seat: { ...seat, session: session.id }, session };
}

/** All that the agent `strong` may do. */
export async function expectFull(seat: Seat): Promise<void> {
  expect(await seat.tools()).toEqual(expect.arrayContaining(["mark", "aegis_task_status"]));
  expect(await seat.call("mark", {})).toMatchObject({ isError: false, text: "marked" });
}

/** No more than the agent `limited` may do. */
export async function expectLimited(seat: Seat): Promise<void> {
  const tools = await seat.tools();
  expect(tools).toContain("aegis_meta");
  expect(tools).not.toContain("mark");
  expect(tools).not.toContain("aegis_task_status");
  expect(await seat.call("mark", {})).toMatchObject({ isError: true });
}
