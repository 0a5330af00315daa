import{a}from"/assets/chunk-LK5IMHS5.js";import"/assets/chunk-SWAYDG4A.js";import"/assets/chunk-7USAYRDK.js";import"/assets/chunk-BRQS4RQQ.js";export{a as Withdraw};
