import Bars

/// The inputs of the simulation: measured figures and assumed figures.
struct Costs {
  struct Figure {
    var value: Double
    let unit: String
    let what: String
    /// The source of the figure, or `nil` for an assumption.
    let source: String?
  }

  var open = Figure(
    value: 190, unit: "µs", what: "processor time of a server process to open an event stream",
    source: "bench-server")
  var pull = Figure(
    value: 240, unit: "µs", what: "processor time of a server process for a pull of little",
    source: "bench-server")
  var pullDatabase = Figure(
    value: 140, unit: "µs", what: "processor time of PostgreSQL for it", source: "bench-server")
  var push = Figure(
    value: 380, unit: "µs", what: "processor time of a server process for a push of one record",
    source: "bench-server")
  var pushDatabase = Figure(
    value: 530, unit: "µs", what: "processor time of PostgreSQL for it", source: "bench-server")
  var notify = Figure(
    value: 23, unit: "µs", what: "processor time of a server process to write a hint to a stream",
    source: "bench-server")
  var notice = Figure(
    value: 15, unit: "µs", what: "processor time of a server process to hear of another's write",
    source: "bench-server")

  var roundTrip = Figure(value: 150, unit: "ms", what: "time a device's pull takes", source: nil)
  var distance = Figure(
    value: 200, unit: "ms", what: "least time between two hints of a stream", source: "default")
  var interval = Figure(value: 300, unit: "s", what: "time between two writes of a device", source: nil)
  var streams = Figure(value: 20_000, unit: "", what: "devices connected to one process", source: nil)
  var cores = Figure(value: 2, unit: "", what: "cores of a process", source: nil)
  var spare = Figure(
    value: 70, unit: "%", what: "share of them that other work leaves for those who reconnect", source: nil)
  var away = Figure(value: 60, unit: "s", what: "time that all processes are away", source: nil)

  static var names: [String: WritableKeyPath<Costs, Figure>] {
    [
      "open": \.open, "pull": \.pull, "pullDatabase": \.pullDatabase, "push": \.push,
      "pushDatabase": \.pushDatabase, "hint": \.notify, "notice": \.notice,
      "roundTrip": \.roundTrip, "distance": \.distance, "interval": \.interval, "streams": \.streams,
      "cores": \.cores,
      "spare": \.spare, "away": \.away,
    ]
  }

  var table: Table {
    var table = Table("What is put in", ["figure", "value", "", "from", "what"])
    for (name, path) in Costs.names.sorted(by: { $0.key < $1.key }) {
      let figure = self[keyPath: path]
      table.add([name, figure.value.short, figure.unit, figure.source ?? "assumed", figure.what])
    }
    return table
  }
}
