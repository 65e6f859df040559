/** The whole team at one event: its sessions, the asks that wait for a person, and the work it was given. */
import type { Event } from "@aegis/contract/event.ts";
import { emptyState } from "../state.ts";
import { applyEvent, type Board, emptyBoard } from "./board.ts";
import { isWorkEvent, reduceWork, type Work } from "./work.ts";

export type Team = Board & Work & { readonly last_seq: number };

export function emptyTeam(lastSeq = 0): Team {
  const { tasks, runs, subagents, schedules } = emptyState();
  return { ...emptyBoard, last_seq: lastSeq, tasks, runs, subagents, schedules };
}

export function applyToTeam(team: Team, event: Event): Team {
  if (event.seq <= team.last_seq) return team;
  const next = { ...team, last_seq: event.seq };
  return isWorkEvent(event) ? reduceWork(next, event) : applyEvent(next, event);
}
