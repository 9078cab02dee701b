import BothySyncService
import CoreMetrics

/// The metrics of replicas, with their numbers in the order of their options. `ServerMetric.replicas` lists them.
struct ReplicaMetrics: Sendable {
  let registry: MetricsRegistry

  /// Sets all metrics to the present states.
  func set(_ replicas: [ReplicaState]) {
    for (index, replica) in replicas.enumerated() {
      let number = ("replica", String(index + 1))
      set("bothy_replica_used", [number], to: replica.problem == nil ? 1 : 0)
      set("bothy_replica_lag_bytes", [number], to: Double(replica.lagBytes))
      set("bothy_replica_lag_seconds", [number], to: replica.lagSeconds)
      for ending in ReplicaState.Ending.allCases {
        registry.setCounter(
          "bothy_replica_reads_total", [number, ("result", ending.rawValue)],
          to: replica.reads[ending, default: 0])
      }
    }
  }

  private func set(_ label: String, _ dimensions: [(String, String)], to value: Double) {
    registry.makeMeter(label: label, dimensions: dimensions).set(value)
  }
}
