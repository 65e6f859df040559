/** The sample team with at least one row of every kind, in every state that some action needs. */
import type { GroupId, RunId, SessionId, TaskId } from "@aegis/contract/ids.ts";
import type { ScheduleView } from "@aegis/contract/schedule.ts";
import type { SkillView } from "@aegis/contract/skill.ts";
import type { Subagent } from "@aegis/contract/subagent.ts";
import type { Model } from "@aegis/tui/model.ts";
import { task } from "./rows.ts";
import { now, sampleModel, sampleSessions } from "./sample-team.ts";

const child = "ses_01hzsub" as SessionId;
export const busyRows = {
  failedTask: "tsk_01hzfailed" as TaskId,
  parkedRun: "run_01hzparked" as RunId,
  subagent: "sub_01hzone" as Subagent["run_id"],
  group: "grp_01hzone" as GroupId,
};

const schedule: ScheduleView = {
  name: "nightly",
  file: ".aegis.yaml",
  state: "on",
  action: { kind: "agent", agent: "coder", prompt: "check" },
  cron: "0 2 * * *",
  fire_at: null,
  timezone: "UTC",
  lifecycle: "forever",
  on_overlap: "skip",
  missed: "skip",
  timeout: null,
  enabled: true,
  next_at: now + 3_600_000,
  fires: 0,
  running: null,
  waiting: 0,
  last: null,
  problem: null,
};

const skill: SkillView = {
  name: "changelog",
  description: "Writes changelogs",
  source: "project",
  plugin: null,
  file: ".aegis/skills/changelog/SKILL.md",
  command: "changelog",
  argument_hint: null,
  eligible: true,
  missing: [],
  notes: [],
  model_invocable: true,
  user_invocable: true,
  agent: null,
  context: "inline",
  allowed_tools: [],
};

const subagent: Subagent = {
  run_id: busyRows.subagent,
  session: child,
  parent: sampleSessions.lucid,
  root: sampleSessions.lucid,
  depth: 1,
  agent: "reviewer",
  label: "review",
  task: "review the change",
  model: null,
  cleanup: "keep",
  status: "running",
  result: null,
  error: null,
  timeout: 600,
  deadline: now + 60_000,
  created_at: now - 60_000,
  ended_at: null,
  archived_at: null,
  announced_to: null,
  announcement: null,
};

export function busyModel(): Model {
  const model = sampleModel();
  const { runs, tasks } = model.state;
  const [run] = Object.values(runs);
  if (run === undefined) throw new Error("the sample has a run");
  const failed = {
    ...task({ id: busyRows.failedTask, queue: "review", status: "failed", ended_at: now }),
    waiting_on: [],
  };
  const parked = { ...run, id: busyRows.parkedRun, status: "parked" as const };
  const [queue] = model.lists.queues;
  const more = [
    { name: "adhoc", source: "added" as const },
    { name: "merge-queue", source: "built-in" as const, settings: null },
  ];
  const added = queue === undefined ? [] : more.map((change) => ({ ...queue, ...change }));
  const members = [
    { session: sampleSessions.keen, handle: "keen-poincare", agent: "reviewer", state: "working" as const },
  ];
  return {
    ...model,
    state: {
      ...model.state,
      runs: { ...runs, [parked.id]: parked },
      tasks: { ...tasks, [failed.id]: failed },
      subagents: { [subagent.run_id]: subagent },
    },
    lists: {
      ...model.lists,
      queues: [...model.lists.queues, ...added],
      schedules: [schedule],
      skills: [skill],
      groups: [
        {
          id: busyRows.group,
          name: "reviewers",
          reducer: "all",
          timeout: 60,
          created_at: now,
          dissolved_at: null,
          members,
          broadcast: null,
        },
      ],
    },
  };
}
