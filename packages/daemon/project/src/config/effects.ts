/**
 * Classifies every configuration key by what it can cause. A project's files may come from an untrusted author, so a
 * key that can start a program, send a secret or grant a right takes effect only after the user trusts it. The type
 * requires a mark for every key, so a new key without one does not compile.
 */
import type { BrainstormConfig } from "@aegis/builtin-workflows/brainstorm-to-spec.ts";
import type { ExecutePlanConfig } from "@aegis/builtin-workflows/execute-plan.ts";
import type { ReviewBranchConfig } from "@aegis/builtin-workflows/review-branch.ts";
import type { TddCycleConfig } from "@aegis/builtin-workflows/tdd-cycle.ts";
import type { AcpOptions } from "@aegis/drivers/acp/options.ts";
import type { CliOptionName } from "@aegis/drivers/cli-harness/options.ts";
import type { NativeOptions } from "@aegis/drivers/native/options.ts";
import type { ParsedConfig } from "./schema.ts";

/**
 * `inert` starts nothing and discloses no secret. `agent`, `model` and `schedule` values are trusted together with the
 * item they belong to. A `setting` is trusted separately and has a description of its effect.
 */
export type Effect = "inert" | "agent" | "model" | "schedule" | { readonly setting: string };

type Marks<T> = MarksOf<Exclude<T, undefined>>;
type MarksOf<T> = [T] extends [readonly unknown[]]
  ? Effect
  : [T] extends [object]
    ? string extends keyof T
      ? [NamedKey<T>] extends [never]
        ? AnyName<T[keyof T]>
        : { [K in NamedKey<T>]-?: Marks<T[K]> } & AnyName<Record<string, unknown>>
      : { [K in keyof T]-?: Marks<T[K]> }
    : Effect;
/** The mark of a map with arbitrary keys: of the keys of each entry, or of the whole map if its keys are unknown. */
type AnyName<V> = [V] extends [readonly unknown[]] ? Effect : [V] extends [object] ? { "*": Marks<V> } : Effect;
/** The literal keys of a type, without its index signature. */
type NamedKey<T> = keyof { [K in keyof T as string extends K ? never : number extends K ? never : K]: true };

export type ConfigEffects = Marks<ParsedConfig>;

const subagentLimits = {
  enabled: "inert",
  max_children: "inert",
  max_spawn_depth: "inert",
  default_timeout: "inert",
} as const;

export const configEffects = {
  default_agent: "inert",
  agents: {
    "*": {
      // The user trusts the other agent separately; inherited rights never exceed those of the default agent.
      extends: "inert",
      description: "inert",
      // Selects a program that is installed on this machine; any other program needs `command`.
      harness: "inert",
      provider: "inert",
      model: "inert",
      effort: "inert",
      // `full` runs anything without an approval.
      permission: "agent",
      prompt: "inert",
      command: "agent",
      args: "agent",
      playbook: "agent",
      // Classified by name in `optionEffects`; unknown options count as `agent`.
      options: "agent",
      // NODE_OPTIONS, PATH and base URLs can make the harness run or call something else.
      env: "agent",
      tools: "inert",
      tools_allow: "inert",
      deny_tools: "inert",
      tools_deny: "inert",
      skills: "inert",
      subagents: { ...subagentLimits, allow_agents: "inert" },
      // Allows the agent to end sessions and tasks that others started.
      may_end: "agent",
      // Starts the servers in `.mcp.json` and keeps those of the harness enabled.
      mcp: "agent",
      on_crash: "inert",
      isolation: "inert",
      nodes: "inert",
      // `off` leaves the sandbox of the project.
      sandbox: "agent",
      allow: { write: "agent", read: "agent", hosts: "agent" },
    },
  },
  // Confines the programs; without it they are not confined.
  sandbox: "inert",
  allow: {
    write: { setting: "lets confined programs change these paths" },
    read: { setting: "lets confined programs read these paths" },
    hosts: { setting: "lets confined programs connect to these hosts" },
  },
  queues: {
    "*": {
      agent: "inert",
      max_parallel: "inert",
      retries: "inert",
      timeout: "inert",
      on_crash: "inert",
      isolation: "inert",
      nodes: "inert",
      budgets: "inert",
      rights: { setting: "lets other agents work with the rights of the queue's agent" },
      // Grants nothing without `rights: own`; with it, both are trusted together.
      producers: "inert",
      check: { setting: "runs this command when a worker says that it is done" },
    },
  },
  schedules: {
    "*": {
      workflow: "schedule",
      args: "schedule",
      queue: "schedule",
      payload: "schedule",
      agent: "schedule",
      prompt: "schedule",
      cron: "schedule",
      fire_at: "schedule",
      timezone: "schedule",
      lifecycle: "schedule",
      on_overlap: "schedule",
      missed: "schedule",
      timeout: "schedule",
      // Enabling or disabling a schedule does not change what it does.
      enabled: "inert",
    },
  },
  groups: {
    defaults: { reducer: "inert", timeout: "inert" },
    presets: { "*": { agents: "inert", reducer: "inert", timeout: "inert" } },
  },
  // Classified by name in `workflowEffects`; all settings for a plugin's workflow count.
  workflows: { "*": { setting: "gives the workflow values that it may run" } },
  // Each plugin found there needs trust of its own.
  plugin_dirs: "inert",
  // Only `aegis plugin install` reads this, and it shows what it found before it asks.
  plugin_registries: "inert",
  plugins: {
    enabled: "inert",
    deny: "inert",
    limits: { memory_mb: "inert", load_timeout: "inert", unresponsive_timeout: "inert" },
    "*": { setting: "gives the plugin values that it may run or send a secret to" },
  },
  skills: {
    enabled: "inert",
    dirs: { setting: "reads skills from outside the project" },
    max_per_turn: "inert",
    catalog_chars: "inert",
    // A model name; the address of its provider needs trust under `models`.
    classifier: "inert",
    registry: { setting: "installs skills from there, and sends CLAWHUB_TOKEN to it" },
    agent_install: { setting: "lets agents install skills without asking" },
  },
  subagents: {
    ...subagentLimits,
    session_ttl_minutes: "inert",
    budget: { agents: "inert", spawns: "inert", minutes: "inert", output_tokens: "inert", usd: "inert" },
  },
  worktrees: {
    dir: { setting: "puts the worktrees of sessions into this folder" },
    setup: { setting: "runs these commands in every new worktree" },
    // Only ignored files of the project, and only into its own worktrees.
    copy: "inert",
    link: "inert",
    ports: "inert",
  },
  // Without it agents can overwrite each other, as they can with a shell command; nothing more runs.
  claims: { automatic: "inert" },
  pool: { max: "inert" },
  hooks: { timeout: "inert" },
  asks: { timeout: "inert" },
  messages: { max_hops: "inert", max_per_minute: "inert" },
  models: { "*": { base_url: "model", api: "model", key_env: "model" } },
  prices: { "*": { input: "inert", output: "inert", cache_read: "inert", cache_write: "inert" } },
  server: {
    // A non-loopback address also requires a command-line flag.
    bind: "inert",
    port: "inert",
    token_file: { setting: "sets the daemon's token" },
    allowed_hosts: { setting: "lets web pages of these names talk to the daemon" },
  },
  // The user agrees to the whole section at once, with the place of its token.
  telegram: {
    token_env: { setting: "lets people talk to agents over Telegram, with the bot token in this variable" },
    token_file: { setting: "lets people talk to agents over Telegram, with the bot token in this file" },
    users: "inert",
    chats: "inert",
    agent: "inert",
    notify: "inert",
    topics: "inert",
    stream: "inert",
    api_root: "inert",
  },
  webhooks: {
    // The user agrees to a whole hook at once, with its address.
    out: {
      "*": {
        url: { setting: "sends events of this project to this address" },
        secret_env: "inert",
        secret_file: "inert",
        events: "inert",
        format: "inert",
        allow_private: "inert",
      },
    },
    // The user agrees to a whole hook at once, with the place of its secret.
    in: {
      "*": {
        secret_env: { setting: "lets requests signed with the secret in this variable start work" },
        secret_file: { setting: "lets requests signed with the secret in this file start work" },
        scheme: "inert",
        agent: "inert",
        session: "inert",
        queue: "inert",
        prompt: "inert",
      },
    },
  },
  // Starts the notification program of the desktop, with text as its arguments.
  notify: { desktop: "inert" },
  // Until the user agrees to both, the daemon does not start: with the defaults it would use another database.
  cluster: {
    database: { setting: "keeps the project's sessions in the PostgreSQL database whose address this variable holds" },
    project: { setting: "shares the sessions of the project with this name in the database" },
    node: "inert",
    labels: "inert",
    max_sessions: "inert",
    lease: "inert",
    give_up: "inert",
  },
} as const satisfies ConfigEffects;

type OptionName = keyof AcpOptions | keyof NativeOptions | CliOptionName | "playbook";

/** The options that an agent may set, for all harnesses. */
export const optionEffects: Readonly<Record<OptionName, Effect>> = {
  command: "agent",
  args: "agent",
  mode: "agent",
  playbook: "agent",
  allow_private_fetch: "agent",
  inactivity_minutes: "inert",
  temperature: "inert",
  max_tokens: "inert",
  max_turns: "inert",
  context_size: "inert",
};

type WorkflowEffects = {
  brainstorm_to_spec: Record<keyof BrainstormConfig, Effect>;
  execute_plan: Record<keyof ExecutePlanConfig, Effect>;
  review_branch: Record<keyof ReviewBranchConfig, Effect>;
  tdd_cycle: Record<keyof TddCycleConfig, Effect>;
};

const runs = { setting: "runs it in a shell" } as const;
const writes = { setting: "writes files there" } as const;

/** What the bundled workflows do with their settings. */
export const workflowEffects: WorkflowEffects = {
  brainstorm_to_spec: { spec_writer: "inert", spec_dir: writes, questions: "inert" },
  execute_plan: { default_subagent_profile: "inert", check: runs, max_retries: "inert" },
  review_branch: { reviewers: "inert", report_dir: writes, most_diff_characters: "inert" },
  tdd_cycle: { implementer: "inert", reviewer: "inert", test_command: runs, max_retries: "inert" },
};
