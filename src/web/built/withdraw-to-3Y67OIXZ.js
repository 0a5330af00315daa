import{a}from"/assets/chunk-ZNW3HUDN.js";import"/assets/chunk-VK7LKL7S.js";import"/assets/chunk-SJQSU63U.js";import"/assets/chunk-JRAVTUET.js";export{a as Withdraw};
