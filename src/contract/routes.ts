/**
 * The endpoint table: name, method and path. No schemas here, so that a quick client can import it without zod;
 * `api.ts` says what goes in and comes out of each.
 */

export type Method = "GET" | "POST" | "PATCH" | "DELETE";
export type Route = { method: Method; path: string };

export const routes = {
  health: { method: "GET", path: "/health" },
  openapi: { method: "GET", path: "/openapi.json" },
  status: { method: "GET", path: "/v1/status" },
  shutdown: { method: "POST", path: "/v1/shutdown" },
  config: { method: "GET", path: "/v1/config" },
  reloadConfig: { method: "POST", path: "/v1/config/reload" },
  listAgents: { method: "GET", path: "/v1/agents" },
  getAgent: { method: "GET", path: "/v1/agents/:agent" },
  listHarnesses: { method: "GET", path: "/v1/harnesses" },
  listSessions: { method: "GET", path: "/v1/sessions" },
  createSession: { method: "POST", path: "/v1/sessions" },
  getSession: { method: "GET", path: "/v1/sessions/:session" },
  updateSession: { method: "PATCH", path: "/v1/sessions/:session" },
  closeSession: { method: "POST", path: "/v1/sessions/:session/close" },
  interruptSession: { method: "POST", path: "/v1/sessions/:session/interrupt" },
  forkSession: { method: "POST", path: "/v1/sessions/:session/fork" },
  markSeen: { method: "POST", path: "/v1/sessions/:session/seen" },
  sendMessage: { method: "POST", path: "/v1/sessions/:session/messages" },
  listMessages: { method: "GET", path: "/v1/sessions/:session/messages" },
  getMessage: { method: "GET", path: "/v1/messages/:message" },
  cancelMessage: { method: "DELETE", path: "/v1/messages/:message" },
  history: { method: "GET", path: "/v1/sessions/:session/history" },
  listTurns: { method: "GET", path: "/v1/sessions/:session/turns" },
  getTurn: { method: "GET", path: "/v1/turns/:turn" },
  listAsks: { method: "GET", path: "/v1/asks" },
  getAsk: { method: "GET", path: "/v1/asks/:ask" },
  answerAsk: { method: "POST", path: "/v1/asks/:ask/answer" },
  listQueues: { method: "GET", path: "/v1/queues" },
  addQueue: { method: "POST", path: "/v1/queues" },
  getQueue: { method: "GET", path: "/v1/queues/:queue" },
  removeQueue: { method: "DELETE", path: "/v1/queues/:queue" },
  pauseQueue: { method: "POST", path: "/v1/queues/:queue/pause" },
  resumeQueue: { method: "POST", path: "/v1/queues/:queue/resume" },
  drainQueue: { method: "POST", path: "/v1/queues/:queue/drain" },
  enqueueTask: { method: "POST", path: "/v1/queues/:queue/tasks" },
  listTasks: { method: "GET", path: "/v1/tasks" },
  getTask: { method: "GET", path: "/v1/tasks/:task" },
  cancelTask: { method: "POST", path: "/v1/tasks/:task/cancel" },
  retryTask: { method: "POST", path: "/v1/tasks/:task/retry" },
  listGroups: { method: "GET", path: "/v1/groups" },
  getGroup: { method: "GET", path: "/v1/groups/:group" },
  spawnGroup: { method: "POST", path: "/v1/groups/:group/members" },
  broadcastGroup: { method: "POST", path: "/v1/groups/:group/broadcasts" },
  waitGroup: { method: "POST", path: "/v1/groups/:group/wait" },
  dissolveGroup: { method: "POST", path: "/v1/groups/:group/dissolve" },
  getBroadcast: { method: "GET", path: "/v1/broadcasts/:broadcast" },
  listWorkflows: { method: "GET", path: "/v1/workflows" },
  getWorkflow: { method: "GET", path: "/v1/workflows/:workflow" },
  startRun: { method: "POST", path: "/v1/workflows/:workflow/runs" },
  listRuns: { method: "GET", path: "/v1/runs" },
  getRun: { method: "GET", path: "/v1/runs/:run" },
  listSteps: { method: "GET", path: "/v1/runs/:run/steps" },
  runEvents: { method: "GET", path: "/v1/runs/:run/events" },
  resumeRun: { method: "POST", path: "/v1/runs/:run/resume" },
  cancelRun: { method: "POST", path: "/v1/runs/:run/cancel" },
  forkRun: { method: "POST", path: "/v1/runs/:run/fork" },
  listSubagents: { method: "GET", path: "/v1/subagents" },
  getSubagent: { method: "GET", path: "/v1/subagents/:run_id" },
  killSubagent: { method: "POST", path: "/v1/subagents/:run_id/kill" },
  listPool: { method: "GET", path: "/v1/pool" },
  listEvents: { method: "GET", path: "/v1/events" },
  streamEvents: { method: "GET", path: "/v1/events/stream" },
} as const satisfies Record<string, Route>;

export type RouteName = keyof typeof routes;

/** The only route that answers without a token. */
export const publicRoutes: readonly RouteName[] = ["health"];
