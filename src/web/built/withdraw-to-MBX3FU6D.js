import{a}from"/assets/chunk-2HEN4L73.js";import"/assets/chunk-BU5K5C2N.js";import"/assets/chunk-CBY6LARM.js";import"/assets/chunk-5E7KIZYM.js";export{a as Withdraw};
