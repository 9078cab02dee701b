import BothyStore

/// A notification for the page: a name, and a JSON object with a few details.
package struct InspectorEvent: Sendable, Equatable {
  package enum Name: String, Sendable {
    /// Records or pending work changed.
    case store
    case settings, caches, packs, places
    /// The server became reachable or unreachable.
    case server
    /// The timeline has a new line.
    case timeline
    /// The operator's page looked at its servers.
    case `operator`
    /// The inspector is running.
    case alive
  }

  package var name: Name
  package var data: String

  init(_ name: Name, _ write: (inout JSONWriter) -> Void = { _ in }) {
    self.name = name
    var writer = JSONWriter()
    writer.object(write)
    data = writer.string
  }

  /// The event in the format of the stream.
  var text: String { "event: \(name.rawValue)\ndata: \(data)\n\n" }
}
