/** Describes the PostgreSQL server of a project, and what a person should correct. */
import type { DatabaseFacts } from "@aegis/contract/api.ts";
import { bytes } from "./text.ts";

export function databaseWords(facts: DatabaseFacts): string {
  const { version, latency_ms, synchronous_commit, synchronous_standbys, connections } = facts;
  return [
    `PostgreSQL ${version}`,
    `round trip ${latency_ms} ms`,
    `clock ${signed(facts.clock_difference_ms)} ms`,
    `synchronous_commit ${synchronous_commit}${synchronous_standbys === "" ? "" : ` (${synchronous_standbys})`}`,
    `database ${bytes(facts.bytes)}`,
    `${connections.used} of ${connections.most} connections`,
  ].join(", ");
}

export type DatabaseWarning = { detail: string; fix: string };

const slowMs = 20;
const clockMs = 2_000;
const fewConnections = 0.8;

export function databaseWarnings(facts: DatabaseFacts): DatabaseWarning[] {
  const found: DatabaseWarning[] = [];
  const add = (detail: string, fix: string) => void found.push({ detail, fix });
  if (!facts.fsync)
    add("fsync is off on the server: a crash of its machine can destroy the database", "set fsync = on");
  if (facts.synchronous_commit === "off")
    add(
      "synchronous_commit is off on the server; Aegis turns it on for its own commits",
      "set synchronous_commit = on",
    );
  if (facts.latency_ms > slowMs)
    add(
      `a round trip takes ${facts.latency_ms} ms: each commit needs at least two`,
      "move the node and the server closer",
    );
  if (Math.abs(facts.clock_difference_ms) > clockMs)
    add(`the server's clock differs by ${signed(facts.clock_difference_ms)} ms`, "set both clocks with NTP");
  const { used, most } = facts.connections;
  if (used > most * fewConnections)
    add(`${used} of ${most} connections of the server are in use; each node needs 7`, "raise max_connections");
  return found;
}

function signed(ms: number): string {
  return ms > 0 ? `+${ms}` : String(ms);
}
