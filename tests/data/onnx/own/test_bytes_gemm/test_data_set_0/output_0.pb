
JF}xxxvuywxxzxwxxzxswwz|vy{{yxxxyvzxxvwvwx{yvxyysxxuxvwxwvuwvwuzxyyy}tv{