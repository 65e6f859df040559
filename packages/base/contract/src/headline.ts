/** How a session is named for people. Without the schemas, so that the page of a browser can import it. */
import type { Session } from "./session.ts";

/** The title of its work, or its handle before its first request. */
export function headline({ title, handle }: Pick<Session, "title" | "handle">): string {
  return title === "" ? handle : title;
}
