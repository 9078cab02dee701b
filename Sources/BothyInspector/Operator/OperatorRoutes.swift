import Hummingbird

/// The routes of the operator's page: the documents below `/api/operator`.
struct OperatorRoutes: PageRoutes {
  let subjects: OperatorSubjects

  func add(to router: some RouterMethods<some RequestContext>) {
    router.get("/api/operator/:name") { call, context in
      let parameters = call.parameters.map { (String($0.key), String($0.value)) }
      let name = try context.parameters.require("name")
      guard let document = try await subjects.document(name, Dictionary(parameters) { $1 }) else {
        throw HTTPFailure.notFound
      }
      return Response(document, type: "application/json")
    }
  }
}
