import BothyServer
import BothyStore
import BothySync
import BothySyncService
import HTTPTypes
import Testing

@Suite("What a server says of its replicas", .timeLimit(.minutes(5)))
struct ReplicaReportTests {
  /// A storage with two replicas, of which one is away.
  private struct Copied: ServerStorage, ReplicatedStorage {
    let base: SQLiteServerStorage

    var identity: String { base.identity }

    var replicas: [ReplicaState] {
      var used = ReplicaState(problem: nil)
      used.reads = [.answered: 7, .ahead: 1]
      var away = ReplicaState(problem: .away)
      (away.lagBytes, away.lagSeconds) = (4096, 2.5)
      return [used, away]
    }

    func write<Result: Sendable>(
      space: String, _ body: @escaping @Sendable (any ServerTransaction) throws -> Result
    ) async throws -> Result { try await base.write(space: space, body) }

    func read<Result: Sendable>(
      space: String, _ body: @escaping @Sendable (any ServerSnapshot) throws -> Result
    ) async throws -> Result { try await base.read(space: space, body) }
  }

  @Test("Metrics of replicas are printed with their kinds and texts")
  func metrics() async throws {
    let server = try ServerUnderTest(storage: Copied(base: SQLiteServerStorage()))
    try await server.run { call async throws in
      let text = try await call(.get, "/metrics").text
      for metric in ServerMetric.replicas {
        #expect(
          text.contains(
            "# HELP \(metric.name) \(metric.about)\n# TYPE \(metric.name) \(metric.kind.rawValue)\n"))
      }
      for line in [
        #"bothy_replica_used{replica="1"} 1"#, #"bothy_replica_used{replica="2"} 0"#,
        #"bothy_replica_lag_bytes{replica="2"} 4096"#, #"bothy_replica_lag_seconds{replica="2"} 2.5"#,
        #"bothy_replica_reads_total{replica="1",result="answered"} 7"#,
        #"bothy_replica_reads_total{replica="1",result="ahead"} 1"#,
        #"bothy_replica_reads_total{replica="2",result="behind"} 0"#,
      ] { #expect(text.contains(line + "\n"), "\(line)") }
    }
  }

  @Test("A server whose replicas are away is ready, and says which")
  func readiness() async throws {
    let configuration = try ServerUnderTest(storage: Copied(base: SQLiteServerStorage())).configuration
    try await ConnectedServer.run(configuration) { server async throws in
      let ready = try await server.get("/readyz")
      #expect(ready.status == 200)
      let replicas = try JSONValue(parsing: ready.text)["replicas"]?.arrayValue ?? []
      #expect(replicas.map { $0["used"] } == [true, false])
      #expect(replicas.first?["problem"] == nil && replicas.last?["problem"] == "The copy does not answer.")
      #expect(replicas.last?["lagSeconds"]?.doubleValue == 2.5)
      #expect(try await server.get("/healthz").text == #"{"status":"ok"}"#)
    }
  }
}
