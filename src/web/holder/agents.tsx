// Agents and limits. In work.

import { PageHead, Shell, Skeleton } from "../parts";

export default function Page() {
  return (
    <Shell app="holder" page="agents" title="Agents and limits">
      <PageHead title="Agents and limits" />
      <Skeleton />
    </Shell>
  );
}
