app.listen(3000);
