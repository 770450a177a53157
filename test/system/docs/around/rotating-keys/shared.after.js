console.log((await keyApi.listItems()).length > 0);
await keyApi.close();
