/** The places of the app: the first word of the path, its title, and the view that is loaded when it is opened. */
import type { ComponentType } from "preact";

export type PageComponent = ComponentType<{ rest: readonly string[] }>;

export type Place = {
  word: string;
  title: string;
  icon: string;
  inNavigation: boolean;
  /** A phone shows it behind *More*. */
  rare?: boolean;
  load?: () => Promise<PageComponent>;
};

function place(word: string, title: string, icon: string, load: () => Promise<PageComponent>): Place {
  return { word, title, icon, inNavigation: true, load };
}

function rarePlace(...args: Parameters<typeof place>): Place {
  return { ...place(...args), rare: true };
}

export const places: readonly Place[] = [
  { word: "", title: "Home", icon: "home", inNavigation: true },
  place("changes", "Changes", "diff", () => import("./changes.tsx").then((it) => it.ChangesPage)),
  place("team", "Team", "team", () => import("./team.tsx").then((it) => it.TeamPage)),
  place("workflows", "Workflows", "workflow", () => import("./workflows.tsx").then((it) => it.WorkflowsPage)),
  place("queues", "Queues", "queue", () => import("./queues.tsx").then((it) => it.QueuesPage)),
  rarePlace("schedules", "Schedules", "schedule", () => import("./schedules.tsx").then((it) => it.SchedulesPage)),
  rarePlace("groups", "Groups", "group", () => import("./groups.tsx").then((it) => it.GroupsPage)),
  rarePlace("costs", "Costs", "cost", () => import("./costs.tsx").then((it) => it.CostsPage)),
  rarePlace("catalog", "Agents", "agent", () => import("./catalog.tsx").then((it) => it.CatalogPage)),
  rarePlace("events", "Events", "event", () => import("./events.tsx").then((it) => it.EventsPage)),
  { ...place("why", "Why", "event", () => import("./why.tsx").then((it) => it.WhyPage)), inNavigation: false },
  {
    ...place("s", "Session", "run", () => import("./session.tsx").then((it) => it.SessionPage)),
    inNavigation: false,
  },
];
