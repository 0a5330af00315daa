// Transfer. In work.

import { PageHead, Shell, Skeleton } from "../parts";

export default function Page() {
  return (
    <Shell app="holder" page="transfers" title="Transfer">
      <PageHead title="Transfer" />
      <Skeleton />
    </Shell>
  );
}
