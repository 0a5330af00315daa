// The end of a list that comes page by page, and what a list shows before it has rows.

import type { ComponentChildren } from "preact";
import { Button, Note, type ApiFailure } from "../parts";

export interface PagerProps {
  /** What is listed: “cards”. */
  what: string;
  page: number;
  hasNext: boolean;
  loading: boolean;
  next: () => void;
  previous: () => void;
}

/** Older and newer. Nothing if there is one page. */
export function Pager({ what, page, hasNext, loading, next, previous }: PagerProps) {
  if (page === 0 && !hasNext) return null;
  return (
    <nav class="pager no-print" aria-label={`Pages of ${what}`}>
      <Button small icon="left" disabled={page === 0 || loading} onClick={previous}>
        Newer
      </Button>
      <span class="small quiet" role="status">
        Page {page + 1}
      </span>
      <Button small busy={loading && page > 0} disabled={!hasNext || loading} onClick={next}>
        Older
      </Button>
    </nav>
  );
}

/** What went wrong with loading, and how to go on. */
export function LoadError({ error, what, retry }: { error: ApiFailure; what: string; retry: () => void }) {
  return (
    <Note tone="bad" title={`We could not load ${what}.`} actions={<Button small icon="again" onClick={retry}>Try again</Button>}>
      {error.said}
      {error.requestId && <span class="mono"> {error.requestId}</span>}
    </Note>
  );
}

/** A sentence of a list that lost rows to a filter. */
export function NoMatch({ children, clear }: { children: ComponentChildren; clear: () => void }) {
  return (
    <div class="no-match">
      <p>{children}</p>
      <Button small onClick={clear}>
        Show all
      </Button>
    </div>
  );
}
