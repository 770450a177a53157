console.log(strategy.name);
