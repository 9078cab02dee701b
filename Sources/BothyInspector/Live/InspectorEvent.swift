import BothyStore

/// Something that the page may want to know at once: a name, and a JSON object with the little there is to say.
package struct InspectorEvent: Sendable, Equatable {
  package enum Name: String, Sendable {
    /// Records or pending work changed.
    case store
    case settings, caches, packs, places
    /// Whether the server answers.
    case server
    /// A line of the timeline.
    case timeline
    /// The inspector is there.
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

  /// The event as the stream carries it.
  var text: String { "event: \(name.rawValue)\ndata: \(data)\n\n" }
}
