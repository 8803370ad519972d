"""The commands that count as test runs if a policy has no `tests`, as patterns."""

from __future__ import annotations

DEFAULT_TESTS = (
    "bats **", "bazel test **", "bin/rails test **", "bun test **", "bundle exec rails test **",
    "bundle exec rspec **", "cabal test **", "cargo nextest **", "cargo test **", "coverage run ** pytest **",
    "coverage run ** unittest **", "ctest **", "dart test **", "deno test **", "docker compose exec ** pytest **",
    "docker compose run ** pytest **", "docker exec ** pytest **", "dotnet test **", "flutter test **", "go test **",
    "gradle check **", "gradle test **", "gradlew * test **", "gradlew check **", "gradlew test **", "hatch test **",
    "jest **", "just *test* **", "lein test **", "make *test* **", "make -C * *test* **", "make check **",
    "mise *test* **", "mise run *test* **", "mix test **", "mocha **", "mvn * test **", "mvn * verify **",
    "mvn test **", "mvn verify **", "mvnw * test **", "mvnw test **", "mvnw verify **", "node --test **", "nox **",
    "npm --prefix * run test* **", "npm --prefix * test **", "npm -w * test **", "npm run test* **", "npm t **",
    "npm test **", "npx jest **", "npx mocha **", "npx nx test **", "npx playwright test **", "npx vitest **",
    "nx test **", "phpunit **", "pipenv run pytest **", "playwright test **", "pnpm -r run test* **",
    "pnpm -r test **", "pnpm run test* **", "pnpm test **", "poetry run pytest **", "pytest **",
    "python* -m coverage run ** pytest **", "python* -m pytest **", "python* -m unittest **",
    "python* manage.py test **", "rails test **", "rake test **", "rspec **", "sbt *test* **", "sbt test **",
    "stack test **", "swift test **", "task *test* **", "tox **", "turbo run test **", "uv run pytest **",
    "uv run python* -m pytest **", "vitest **", "yarn run test* **", "yarn test **", "yarn workspace * test **",
    "zig build test **",
)  # fmt: skip
