"""What can be said about a program before it runs: findings, dependencies, growth."""
