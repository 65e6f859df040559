/** Behaviour tests drive what users install. */
import { buildIfStale } from "../../scripts/build-if-stale.ts";

export default buildIfStale;
