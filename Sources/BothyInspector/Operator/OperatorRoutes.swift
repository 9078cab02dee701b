import BothyStore
import HTTPTypes

/// The requests of the operator's page: its files, its events, and the documents below `/api/operator`.
struct OperatorRoutes: Sendable {
  let subjects: OperatorSubjects

  private static let folder = "/api/operator/"

  func answer(_ call: InspectorCall) async throws -> Answer {
    guard call.method == .get || call.method == .head else {
      throw HTTPFailure(
        .methodNotAllowed, "methodNotAllowed", "The page is read with GET. It changes nothing.")
    }
    if call.path == "/" { return Assets.operator }
    if let asset = Assets.named(call.path) { return asset }
    if call.path == "/events" { return .events }
    guard call.path.hasPrefix(Self.folder),
      let document = try await subjects.document(String(call.path.dropFirst(Self.folder.count)), call.query)
    else { throw HTTPFailure.notFound }
    return Answer(document, type: "application/json")
  }
}
