import BothyStore
import BothySync
import HTTPTypes

/// What containers hold, without their records: listings with validators, and digests.
extension ServerParts {
  func containerRoutes() -> [Route] {
    let answers: [Route.Documented] = [
      .init(status: 200, about: "The container.", schema: "Container", headers: ["ETag"]),
      .init(status: 304, about: "Nothing has changed since.", headers: ["ETag"]),
    ]
    return [
      Route(
        method: .get, pattern: "/v1/spaces/{space}/containers", operation: "listContainers",
        summary: "The whole space, container by container.", parameters: [.ifNoneMatch], answers: answers,
        handle: { try await listing($0, .space) }),
      Route(
        method: .get, pattern: "/v1/spaces/{space}/containers/{path...}", operation: "getContainer",
        summary: "A container: its records' number, its position and validator.",
        parameters: [.children, .ifNoneMatch], answers: answers,
        handle: { call in
          let scope = PullScope(
            container: call.names["path"] ?? "", includesChildren: try call.query.flag("children"))
          return try await listing(call, scope)
        }),
      Route(
        method: .get, pattern: "/v1/spaces/{space}/digest", operation: "digest",
        summary: "The number of live records of a scope and the sum of their hashes.",
        parameters: [.container, .children],
        answers: [.init(status: 200, about: "The digest.", schema: "Digest")], handle: digest),
    ]
  }

  /// The validator is read before the records, so a change in between makes it too old, never too new.
  private func listing(_ call: Call, _ scope: PullScope) async throws -> Answer {
    let preconditions = try Preconditions(call.headers)
    let validator = try await authority.validator(space: call.space, principal: call.principal, scope)
    let headers: HTTPFields = [.eTag: "W/\"\(validator)\""]
    guard preconditions.noneMatches(validator) else { return Answer(.notModified, headers: headers) }
    let containers = try await authority.containers(space: call.space, principal: call.principal, scope)
    return Answer.object(headers: headers) { writer in
      writer.key("container")
      writer.value(scope.container)
      writer.key("count")
      writer.value(containers.reduce(0) { $0 + $1.count })
      writer.key("position")
      writer.value(containers.map(\.position).max() ?? 0)
      writer.key("validator")
      writer.value(validator)
      writer.key("containers")
      writer.beginArray()
      for container in containers {
        writer.beginObject()
        writer.key("container")
        writer.value(container.container)
        writer.key("count")
        writer.value(container.count)
        writer.key("position")
        writer.value(container.position)
        writer.endObject()
      }
      writer.endArray()
    }
  }

  private func digest(_ call: Call) async throws -> Answer {
    let digest = try await authority.digest(
      space: call.space, principal: call.principal, try call.query.scope())
    return Answer.object { digest.writeMembers(to: &$0) }
  }
}
