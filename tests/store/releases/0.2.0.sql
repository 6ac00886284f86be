BEGIN TRANSACTION;
CREATE TABLE ecv_schema (
	version INTEGER NOT NULL, 
	PRIMARY KEY (version)
);
INSERT INTO "ecv_schema" VALUES(7);
CREATE TABLE fold_leases (
	run_id TEXT NOT NULL, 
	fold INTEGER NOT NULL, 
	asked_at TEXT NOT NULL, 
	until TEXT NOT NULL, 
	PRIMARY KEY (run_id, fold)
);
INSERT INTO "fold_leases" VALUES('426ae46e737e',0,'2026-11-27T19:28:40.040544+00:00','2026-11-28T01:28:39.897294+00:00');
CREATE TABLE folds (
	sequence INTEGER NOT NULL, 
	run_id TEXT NOT NULL, 
	fold INTEGER NOT NULL, 
	result TEXT NOT NULL, 
	ahead BOOLEAN NOT NULL, 
	turn INTEGER, 
	moment TEXT, 
	PRIMARY KEY (sequence), 
	UNIQUE (run_id, fold)
);
INSERT INTO "folds" VALUES(1,'e1520190923f',0,'{"fold": 0, "score": 0.5344815403006857, "metrics": {"ndcg@1": 0.5, "recall@1": 0.24999999999999997, "precision@1": 0.5, "mrr@1": 0.5, "hit@1": 0.5, "map@1": 0.5, "f1@1": 0.3125, "epc@1": 0.16666666666666669, "efd@1": 1.3774437510817341, "average-popularity@1": 8.0, "tail-share@1": 0.0, "ndcg@3": 0.5344815403006857, "recall@3": 0.6041666666666667, "precision@3": 0.41666666666666663, "mrr@3": 0.625, "hit@3": 0.875, "map@3": 0.4513888888888889, "f1@3": 0.4666666666666666, "epc@3": 0.16154645433712606, "efd@3": 1.2321855028004438, "average-popularity@3": 6.916666666666666, "tail-share@3": 0.0, "ndcg@5": 0.7227017685740587, "recall@5": 0.9583333333333333, "precision@5": 0.42500000000000004, "mrr@5": 0.65625, "hit@5": 1.0, "map@5": 0.6086805555555556, "f1@5": 0.5699404761904762, "epc@5": 0.1953296574998364, "efd@5": 1.3401930595051994, "average-popularity@5": 5.91875, "tail-share@5": 0.20625000000000002, "coverage@1": 0.4444444444444444, "gini@1": 0.6388888888888888, "coverage@3": 0.7777777777777778, "gini@3": 0.3055555555555556, "coverage@5": 1.0, "gini@5": 0.14619883040935672}, "users": 8, "inner_curve": [], "fit_seconds": 4.1963001422118396e-05, "evaluate_seconds": 0.013313611001649406, "total_seconds": 0.31178388300031656, "processor_seconds": 0.08000000000000007, "energy": {"joules": 0.0, "cpu_joules": 0.0, "gpu_joules": 0.0, "ram_joules": 0.0, "grams_co2e": 0.0, "source": "none", "other_work": 0.8341273793097235, "machine_shared": false, "idle_joules": null, "gpu_seconds": null, "memory_basis": "", "readings": []}, "reused": false, "shared": null, "node": {"host": "laptop", "hardware": "AMD EPYC, 2 cores, 24 GiB", "began_at": "2026-11-27T19:27:53.504412Z", "slurm_joules": null}, "user_scores": null}',0,1,'{"n": 1, "fold": 0, "score": 0.5344815403006857, "mean": 0.5344815403006857, "interval": null, "decision": {"stop": false, "reason": "After 1 fold: one score has no interval yet, and the earliest stop is after fold 3: go on."}, "doubt": ""}');
INSERT INTO "folds" VALUES(2,'e1520190923f',1,'{"fold": 1, "score": 0.5687228134073211, "metrics": {"ndcg@1": 0.5, "recall@1": 0.35, "precision@1": 0.5, "mrr@1": 0.5, "hit@1": 0.5, "map@1": 0.5, "f1@1": 0.39999999999999997, "epc@1": 0.175, "efd@1": 1.4082912069651303, "average-popularity@1": 7.8, "tail-share@1": 0.0, "ndcg@3": 0.5687228134073211, "recall@3": 0.6333333333333334, "precision@3": 0.36666666666666664, "mrr@3": 0.6333333333333333, "hit@3": 0.9, "map@3": 0.49444444444444446, "f1@3": 0.4533333333333334, "epc@3": 0.16834372397159722, "efd@3": 1.171402167460971, "average-popularity@3": 6.1, "tail-share@3": 0.06666666666666667, "ndcg@5": 0.7349414119134222, "recall@5": 0.9666666666666668, "precision@5": 0.33999999999999997, "mrr@5": 0.6583333333333333, "hit@5": 1.0, "map@5": 0.6311111111111111, "f1@5": 0.49285714285714277, "epc@5": 0.18141354966196394, "efd@5": 1.1816125018886847, "average-popularity@5": 5.174999999999999, "tail-share@5": 0.305, "coverage@1": 0.5555555555555556, "gini@1": 0.5777777777777777, "coverage@3": 0.8888888888888888, "gini@3": 0.31851851851851853, "coverage@5": 1.0, "gini@5": 0.1938534278959811}, "users": 10, "inner_curve": [], "fit_seconds": 1.9889994291588664e-05, "evaluate_seconds": 0.0013878140016458929, "total_seconds": 0.00210618299752241, "processor_seconds": 0.010000000000000009, "energy": {"joules": 0.0, "cpu_joules": 0.0, "gpu_joules": 0.0, "ram_joules": 0.0, "grams_co2e": 0.0, "source": "none", "other_work": null, "machine_shared": false, "idle_joules": null, "gpu_seconds": null, "memory_basis": "", "readings": []}, "reused": false, "shared": null, "node": {"host": "laptop", "hardware": "AMD EPYC, 2 cores, 24 GiB", "began_at": "2026-11-27T19:27:53.932950Z", "slurm_joules": null}, "user_scores": null}',0,2,'{"n": 2, "fold": 1, "score": 0.5687228134073211, "mean": 0.5516021768540034, "interval": {"low": 0.3340638635939125, "high": 0.7691404901140942, "kind": "mean"}, "decision": {"stop": false, "reason": "After 2 folds: the interval is 0.435 wide, and the earliest stop is after fold 3: go on."}, "doubt": ""}');
INSERT INTO "folds" VALUES(3,'e1520190923f',2,'{"fold": 2, "score": 0.748688539322892, "metrics": {"ndcg@1": 0.75, "recall@1": 0.375, "precision@1": 0.75, "mrr@1": 0.75, "hit@1": 0.75, "map@1": 0.75, "f1@1": 0.47916666666666663, "epc@1": 0.3020833333333333, "efd@1": 2.1902872182608553, "average-popularity@1": 7.25, "tail-share@1": 0.0, "ndcg@3": 0.748688539322892, "recall@3": 0.75, "precision@3": 0.5416666666666666, "mrr@3": 0.875, "hit@3": 1.0, "map@3": 0.6666666666666666, "f1@3": 0.6125, "epc@3": 0.2557602388707332, "efd@3": 1.7935317904148234, "average-popularity@3": 6.5, "tail-share@3": 0.041666666666666664, "ndcg@5": 0.8618736053657647, "recall@5": 0.9583333333333333, "precision@5": 0.42499999999999993, "mrr@5": 0.875, "hit@5": 1.0, "map@5": 0.7854166666666667, "f1@5": 0.5773809523809523, "epc@5": 0.22620938353449144, "efd@5": 1.5410555152228858, "average-popularity@5": 5.875, "tail-share@5": 0.2125, "coverage@1": 0.4444444444444444, "gini@1": 0.6666666666666666, "coverage@3": 0.8888888888888888, "gini@3": 0.3425925925925926, "coverage@5": 1.0, "gini@5": 0.09686609686609686}, "users": 8, "inner_curve": [], "fit_seconds": 2.204300108132884e-05, "evaluate_seconds": 0.007289255001523998, "total_seconds": 0.007995184998435434, "processor_seconds": 0.0, "energy": {"joules": 0.0, "cpu_joules": 0.0, "gpu_joules": 0.0, "ram_joules": 0.0, "grams_co2e": 0.0, "source": "none", "other_work": 0.8533009452000119, "machine_shared": false, "idle_joules": null, "gpu_seconds": null, "memory_basis": "", "readings": []}, "reused": false, "shared": null, "node": {"host": "laptop", "hardware": "AMD EPYC, 2 cores, 24 GiB", "began_at": "2026-11-27T19:27:54.243478Z", "slurm_joules": null}, "user_scores": null}',0,3,'{"n": 3, "fold": 2, "score": 0.748688539322892, "mean": 0.6172976310102997, "interval": {"low": 0.3314512573109271, "high": 0.9031440047096722, "kind": "mean"}, "decision": {"stop": true, "reason": "After 3 folds: the interval is 0.572 wide (0.435 before); width x change = 0.0781 is at most alpha = 0.5, so it is steady enough: stop."}, "doubt": ""}');
INSERT INTO "folds" VALUES(4,'3f39aaf149cf',0,'{"fold": 0, "score": 0.58212139608129, "metrics": {"ndcg@1": 0.6666666666666666, "recall@1": 0.3333333333333333, "precision@1": 0.6666666666666666, "mrr@1": 0.6666666666666666, "hit@1": 0.6666666666666666, "map@1": 0.6666666666666666, "f1@1": 0.4444444444444444, "epc@1": 0.2708333333333333, "efd@1": 1.8469081445456954, "average-popularity@1": 7.166666666666667, "tail-share@1": 0.0, "ndcg@3": 0.58212139608129, "recall@3": 0.5833333333333334, "precision@3": 0.3888888888888889, "mrr@3": 0.75, "hit@3": 0.8333333333333334, "map@3": 0.49999999999999994, "f1@3": 0.4666666666666668, "epc@3": 0.20243704970447043, "efd@3": 1.2943167327237022, "average-popularity@3": 5.805555555555556, "tail-share@3": 0.0, "ndcg@5": 0.7909821608070763, "recall@5": 1.0, "precision@5": 0.39999999999999997, "mrr@5": 0.7916666666666666, "hit@5": 1.0, "map@5": 0.6666666666666666, "f1@5": 0.5714285714285713, "epc@5": 0.2319402176171459, "efd@5": 1.3925074881966186, "average-popularity@5": 4.833333333333333, "tail-share@5": 0.3, "coverage@1": 0.3333333333333333, "gini@1": 0.7037037037037037, "coverage@3": 0.7777777777777778, "gini@3": 0.2962962962962963, "coverage@5": 1.0, "gini@5": 0.15185185185185185}, "users": 12, "inner_curve": [], "fit_seconds": 0.008848315999784973, "evaluate_seconds": 0.134608678999939, "total_seconds": 0.6543519699989702, "processor_seconds": 0.09000000000000008, "energy": {"joules": 0.0, "cpu_joules": 0.0, "gpu_joules": 0.0, "ram_joules": 0.0, "grams_co2e": 0.0, "source": "none", "other_work": 0.9160123217832727, "machine_shared": false, "idle_joules": null, "gpu_seconds": null, "memory_basis": "", "readings": []}, "reused": false, "shared": null, "node": {"host": "laptop", "hardware": "AMD EPYC, 2 cores, 24 GiB", "began_at": "2026-11-27T19:27:59.724864Z", "slurm_joules": null}, "user_scores": null}',0,1,'{"n": 1, "fold": 0, "score": 0.58212139608129, "mean": 0.58212139608129, "interval": null, "decision": {"stop": false, "reason": "After 1 fold: all folds are to run: go on."}, "doubt": ""}');
INSERT INTO "folds" VALUES(5,'3f39aaf149cf',1,'{"fold": 1, "score": 0.6265270612407604, "metrics": {"ndcg@1": 0.6666666666666666, "recall@1": 0.3333333333333333, "precision@1": 0.6666666666666666, "mrr@1": 0.6666666666666666, "hit@1": 0.6666666666666666, "map@1": 0.6666666666666666, "f1@1": 0.4444444444444444, "epc@1": 0.3194444444444445, "efd@1": 1.9654135417267629, "average-popularity@1": 6.583333333333333, "tail-share@1": 0.0, "ndcg@3": 0.6265270612407604, "recall@3": 0.6666666666666666, "precision@3": 0.4444444444444444, "mrr@3": 0.7916666666666666, "hit@3": 1.0, "map@3": 0.5208333333333334, "f1@3": 0.5333333333333333, "epc@3": 0.23975957534091877, "efd@3": 1.4452026343952014, "average-popularity@3": 5.694444444444444, "tail-share@3": 0.0, "ndcg@5": 0.7958548738383309, "recall@5": 1.0, "precision@5": 0.39999999999999997, "mrr@5": 0.7916666666666666, "hit@5": 1.0, "map@5": 0.6749999999999999, "f1@5": 0.5714285714285713, "epc@5": 0.23267958006492595, "efd@5": 1.3685091063368053, "average-popularity@5": 5.1000000000000005, "tail-share@5": 0.26666666666666666, "coverage@1": 0.5555555555555556, "gini@1": 0.6111111111111112, "coverage@3": 0.7777777777777778, "gini@3": 0.29012345679012347, "coverage@5": 1.0, "gini@5": 0.1}, "users": 12, "inner_curve": [], "fit_seconds": 0.010316840998711996, "evaluate_seconds": 0.0016923619987210259, "total_seconds": 0.012657745995966252, "processor_seconds": 0.010000000000000009, "energy": {"joules": 0.0, "cpu_joules": 0.0, "gpu_joules": 0.0, "ram_joules": 0.0, "grams_co2e": 0.0, "source": "none", "other_work": 0.6286813716487246, "machine_shared": false, "idle_joules": null, "gpu_seconds": null, "memory_basis": "", "readings": []}, "reused": false, "shared": null, "node": {"host": "laptop", "hardware": "AMD EPYC, 2 cores, 24 GiB", "began_at": "2026-11-27T19:28:00.654856Z", "slurm_joules": null}, "user_scores": null}',0,2,'{"n": 2, "fold": 1, "score": 0.6265270612407604, "mean": 0.6043242286610252, "interval": {"low": 0.3222104921798999, "high": 0.8864379651421506, "kind": "mean"}, "decision": {"stop": false, "reason": "After 2 folds: all folds are to run: go on."}, "doubt": ""}');
INSERT INTO "folds" VALUES(6,'3f39aaf149cf',2,'{"fold": 2, "score": 0.5310257966841684, "metrics": {"ndcg@1": 0.5833333333333334, "recall@1": 0.2916666666666667, "precision@1": 0.5833333333333334, "mrr@1": 0.5833333333333334, "hit@1": 0.5833333333333334, "map@1": 0.5833333333333334, "f1@1": 0.38888888888888884, "epc@1": 0.22916666666666663, "efd@1": 1.5881635745633396, "average-popularity@1": 7.333333333333333, "tail-share@1": 0.0, "ndcg@3": 0.5310257966841684, "recall@3": 0.5416666666666666, "precision@3": 0.3611111111111111, "mrr@3": 0.6805555555555557, "hit@3": 0.8333333333333334, "map@3": 0.4513888888888889, "f1@3": 0.43333333333333335, "epc@3": 0.1693442675031606, "efd@3": 1.1328086107620992, "average-popularity@3": 6.055555555555557, "tail-share@3": 0.1111111111111111, "ndcg@5": 0.7641314391079451, "recall@5": 1.0, "precision@5": 0.39999999999999997, "mrr@5": 0.7222222222222223, "hit@5": 1.0, "map@5": 0.6430555555555556, "f1@5": 0.5714285714285713, "epc@5": 0.2186829058080552, "efd@5": 1.3409859016582197, "average-popularity@5": 4.766666666666667, "tail-share@5": 0.45, "coverage@1": 0.4444444444444444, "gini@1": 0.6481481481481481, "coverage@3": 0.7777777777777778, "gini@3": 0.30246913580246915, "coverage@5": 1.0, "gini@5": 0.16296296296296298}, "users": 12, "inner_curve": [], "fit_seconds": 2.1252002625260502e-05, "evaluate_seconds": 0.0013312789960764349, "total_seconds": 0.002005401001952123, "processor_seconds": 0.0, "energy": {"joules": 0.0, "cpu_joules": 0.0, "gpu_joules": 0.0, "ram_joules": 0.0, "grams_co2e": 0.0, "source": "none", "other_work": 0.8723516221617239, "machine_shared": false, "idle_joules": null, "gpu_seconds": null, "memory_basis": "", "readings": []}, "reused": false, "shared": null, "node": {"host": "laptop", "hardware": "AMD EPYC, 2 cores, 24 GiB", "began_at": "2026-11-27T19:28:01.109518Z", "slurm_joules": null}, "user_scores": null}',0,3,'{"n": 3, "fold": 2, "score": 0.5310257966841684, "mean": 0.5798914180020729, "interval": {"low": 0.46117529844772204, "high": 0.6986075375564238, "kind": "mean"}, "decision": {"stop": false, "reason": "After 3 folds: all folds are to run: go on."}, "doubt": ""}');
INSERT INTO "folds" VALUES(7,'426ae46e737e',0,'{"fold": 0, "score": 0.5, "metrics": {"clicks": 0.5}, "users": 12, "inner_curve": [], "fit_seconds": 4.168958, "evaluate_seconds": 0.072768, "total_seconds": 4.241726, "processor_seconds": null, "energy": {"joules": 0.0, "cpu_joules": 0.0, "gpu_joules": 0.0, "ram_joules": 0.0, "grams_co2e": 0.0, "source": "none", "other_work": null, "machine_shared": false, "idle_joules": null, "gpu_seconds": null, "memory_basis": "", "readings": []}, "reused": false, "shared": null, "node": null, "user_scores": null}',0,1,'{"n": 1, "fold": 0, "score": 0.5, "mean": 0.5, "interval": null, "decision": {"stop": false, "reason": "After 1 fold: all folds are to run: go on."}, "doubt": ""}');
CREATE TABLE imports (
	run_id TEXT NOT NULL, 
	original_id TEXT NOT NULL, 
	file_name TEXT NOT NULL, 
	made_with TEXT NOT NULL, 
	imported_at TEXT NOT NULL, 
	PRIMARY KEY (run_id)
);
CREATE TABLE labels (
	run_id TEXT NOT NULL, 
	name TEXT NOT NULL, 
	tags TEXT NOT NULL, 
	note TEXT NOT NULL, 
	PRIMARY KEY (run_id)
);
INSERT INTO "labels" VALUES('e1520190923f','first','["a", "b"]','two
lines');
CREATE TABLE owners (
	owner TEXT NOT NULL, 
	serves BOOLEAN NOT NULL, 
	beat_at TEXT NOT NULL, 
	PRIMARY KEY (owner)
);
INSERT INTO "owners" VALUES('vm/1e05b6cc:2019:4751830',0,'2026-11-27T19:27:59.547380+00:00');
CREATE TABLE people (
	person TEXT NOT NULL, 
	name TEXT NOT NULL, 
	PRIMARY KEY (person)
);
CREATE TABLE places (
	group_id TEXT NOT NULL, 
	place TEXT NOT NULL, 
	PRIMARY KEY (group_id)
);
CREATE TABLE plans (
	sequence INTEGER NOT NULL, 
	plan_id TEXT NOT NULL, 
	kind TEXT NOT NULL, 
	created_at TEXT NOT NULL, 
	content TEXT NOT NULL, 
	started_by TEXT NOT NULL, 
	PRIMARY KEY (sequence), 
	UNIQUE (plan_id)
);
CREATE TABLE progress (
	run_id TEXT NOT NULL, 
	fold INTEGER NOT NULL, 
	phase TEXT NOT NULL, 
	step INTEGER NOT NULL, 
	steps INTEGER NOT NULL, 
	started_at TEXT NOT NULL, 
	PRIMARY KEY (run_id)
);
CREATE TABLE removed (
	run_id TEXT NOT NULL, 
	removed_at TEXT NOT NULL, 
	PRIMARY KEY (run_id)
);
INSERT INTO "removed" VALUES('3f39aaf149cf','2026-11-27T19:28:05.581967+00:00');
CREATE TABLE runs (
	sequence INTEGER NOT NULL, 
	run_id TEXT NOT NULL, 
	group_id TEXT NOT NULL, 
	spec TEXT NOT NULL, 
	score_key TEXT NOT NULL, 
	state TEXT NOT NULL, 
	owner TEXT, 
	cancel_requested BOOLEAN NOT NULL, 
	anew BOOLEAN NOT NULL, 
	started_by TEXT NOT NULL, 
	created_at TEXT NOT NULL, 
	queued_at TEXT NOT NULL, 
	started_at TEXT, 
	finished_at TEXT, 
	stopped_at INTEGER, 
	error TEXT, 
	PRIMARY KEY (sequence), 
	UNIQUE (run_id)
);
INSERT INTO "runs" VALUES(1,'e1520190923f','e1520190923f','{"algorithm":"popular","candidates":"all","clustered":false,"confidence":0.95,"country":"DEU","cutoffs":[1,3,5],"data_sha256":"1a86acf13aca843fa6906ba9025816e967cced3a1a69a4d5cbd764eafeca62aa","dataset":"tiny","folds_sha256":null,"full":false,"in_time":false,"k":4,"memory_watts":null,"metric":"ndcg","min_folds":3,"n":3,"negative_sampling":"uniform","negatives":null,"no_energy":true,"only_folds":[],"overlap":0.0,"own_metric":{},"params":{},"processor_watts":null,"rule":"e-fold","rule_params":{"alpha":0.5},"seed":42,"share_machine":false,"split":"record-k-fold","split_params":{},"tracked":false,"wait_for_quiet":false}','9b9c1f114e36bcd0ae50c60d4a2bfdf5','finished','vm/1e05b6cc:1891:4751052',0,0,'','2026-11-27T19:27:52.955110+00:00','2026-11-27T19:27:52.955110+00:00','2026-11-27T19:27:53.341417+00:00','2026-11-27T19:27:54.300897+00:00',3,NULL);
INSERT INTO "runs" VALUES(2,'3f39aaf149cf','3f39aaf149cf','{"algorithm":"popular","candidates":"all","clustered":false,"confidence":0.95,"country":"DEU","cutoffs":[1,3,5],"data_sha256":"1a86acf13aca843fa6906ba9025816e967cced3a1a69a4d5cbd764eafeca62aa","dataset":"tiny","folds_sha256":null,"full":false,"in_time":false,"k":3,"memory_watts":null,"metric":"ndcg","min_folds":3,"n":3,"negative_sampling":"uniform","negatives":null,"no_energy":true,"only_folds":[],"overlap":0.0,"own_metric":{},"params":{},"processor_watts":null,"rule":"never","rule_params":{},"seed":42,"share_machine":false,"split":"user-k-fold","split_params":{},"tracked":false,"wait_for_quiet":false}','acf944d086f844d5590cc5316a904a57','finished','vm/1e05b6cc:2019:4751830',0,0,'','2026-11-27T19:27:59.109654+00:00','2026-11-27T19:27:59.109654+00:00','2026-11-27T19:27:59.549333+00:00','2026-11-27T19:28:01.150267+00:00',3,NULL);
INSERT INTO "runs" VALUES(3,'426ae46e737e','426ae46e737e','{"algorithm":"mine","candidates":"all","clustered":false,"confidence":0.95,"country":"DEU","cutoffs":[1,3,5],"data_sha256":"1a86acf13aca843fa6906ba9025816e967cced3a1a69a4d5cbd764eafeca62aa","dataset":"tiny","folds_sha256":null,"full":false,"in_time":false,"k":3,"memory_watts":null,"metric":"clicks","min_folds":3,"n":3,"negative_sampling":"uniform","negatives":null,"no_energy":false,"only_folds":[],"overlap":0.0,"own_metric":{"code":"","higher_is_better":true,"kind":"hits","title":"Clicks","unit":"EUR","whole":false},"params":{},"processor_watts":null,"rule":"never","rule_params":{},"seed":42,"share_machine":false,"split":"user-k-fold","split_params":{},"tracked":true,"wait_for_quiet":false}','be9bb28363a5d1425664a2b66b3b1ad4','running','outside',0,0,'','2026-11-27T19:28:36.222568+00:00','2026-11-27T19:28:36.222568+00:00','2026-11-27T19:28:36.275636+00:00',NULL,NULL,NULL);
CREATE TABLE spent (
	sequence INTEGER NOT NULL, 
	run_id TEXT NOT NULL, 
	person TEXT, 
	at TEXT NOT NULL, 
	starts INTEGER NOT NULL, 
	lost_seconds FLOAT NOT NULL, 
	PRIMARY KEY (sequence)
);
CREATE TABLE under_way (
	run_id TEXT NOT NULL, 
	fold INTEGER NOT NULL, 
	node TEXT NOT NULL, 
	since TEXT NOT NULL, 
	PRIMARY KEY (run_id, fold)
);
CREATE TABLE user_scores (
	run_id TEXT NOT NULL, 
	fold INTEGER NOT NULL, 
	metrics TEXT NOT NULL, 
	users BLOB NOT NULL, 
	clusters BLOB, 
	scores BLOB NOT NULL, 
	PRIMARY KEY (run_id, fold)
);
INSERT INTO "user_scores" VALUES('e1520190923f',0,'["ndcg@3", "recall@3", "precision@3", "mrr@3", "hit@3", "map@3", "f1@3", "epc@3", "efd@3", "average-popularity@3", "tail-share@3"]',X'E0001F000E6C00008031FF700FAF0D7B075DBC090000',NULL,X'E0015F008F6C00006E250784FFC1EE241AE26127412813E5909F2E15298537AC7B91B393B9C4FB135A083E7E4CA8A1FA0345ABFB6B9890ECE387A16A57FB8FFEDC4E9F06C64C65D84D781EFF6ADB7CFCA42623C424EADFC3BF78F008E7FEA1FE7333B5D1C37B6ED10B18B6250E1E46C7682D53469D47A0CB381C8CF121AD4A3ECB05026FC7C813CBC9856C39F04F966DD9CF41A05E1C00');
INSERT INTO "user_scores" VALUES('e1520190923f',1,'["ndcg@3", "recall@3", "precision@3", "mrr@3", "hit@3", "map@3", "f1@3", "epc@3", "efd@3", "average-popularity@3", "tail-share@3"]',X'E00027000C6C0000687ECA028012933ED4480000',NULL,X'E001B700AC6C0000001003B8AF57F08FD4FF11D697CD4CC120B3AD14FDE38FD235B8FE645306A940FCCF5A59D50158673539E2B28B750625C001E421601A8F43EE34920C552B4C50C4C598C0AD563F5F7397B706D4BC86E6A7495EB6211084957ECAE051A8C0783B56AEB6785A44B7EEC890FE760CA739E5553D83DF6F3069294A602E3555D73A956BAC1548AEF1E8D2AD72764E124A249F846A148138138C0DB476784EE129B4AA9B312F5258C45402E3B50D00');
INSERT INTO "user_scores" VALUES('e1520190923f',2,'["ndcg@3", "recall@3", "precision@3", "mrr@3", "hit@3", "map@3", "f1@3", "epc@3", "efd@3", "average-popularity@3", "tail-share@3"]',X'E0001F000D6C0000687F0309703BE06BE3451D8000',NULL,X'E0015F00A06C0056BB8463F5765ED85A0C4202668CBFEC52EB1A3A646B76AA6BE1183AEB4A16EDDF0B4FFE49E3A97D5A212864A7DA20CAC7931571C3E90B2389687C950652B2A661649AF1EC730E9D2ADF97372E66F54583D0B28FC69A89304FDD194820FB17C457B71BBCB93F150287BB6919C9C26E4669DAA6EB9F27E550E3B3B89C1B87676B3FF1AB5C98EC58533FFCC5B194548DF865403CCC401375A54A68AB8B5EEF7D4D00');
INSERT INTO "user_scores" VALUES('3f39aaf149cf',0,'["ndcg@3", "recall@3", "precision@3", "mrr@3", "hit@3", "map@3", "f1@3", "epc@3", "efd@3", "average-popularity@3", "tail-share@3"]',X'E0002F00096C0000687ECA627E6F400000',NULL,X'E0020F00986C0000001003B8AF57F080BBC45163460DC0F67EF72B0227F3D92EE1C9F785672110C74937667033F949A7D22E0FBBC04BE353BEB70B1CBC603C9C17A325A1DF5C4BA8A283E8E18C2D3FE480D1DC7BAC434009072F5BA8937E4A0F0EA45E0FAB0BAE4E9CDC28BB451150AA140B8D23672B7190B391E684F06193961DC4B230F9207326341108636AD5CDE507C96BE7FC5A380FD3BA780139E80000');
INSERT INTO "user_scores" VALUES('3f39aaf149cf',1,'["ndcg@3", "recall@3", "precision@3", "mrr@3", "hit@3", "map@3", "f1@3", "epc@3", "efd@3", "average-popularity@3", "tail-share@3"]',X'E0002F00096C0000687ECA627E6F400000',NULL,X'E0020F00996C00691C8963F000011874C9F05F013243209BD706479968E4A2FC2234FC590C16C8D44235BB724C6D9CB5AE35C28E979CD13B974821C9679873DBDBCCBB8A6031FFC801A705ACA299CF10B404A830768E0AD3309C3F3DDAFC983101CF58E558DBA8A0C9D73839E7D2E2C1002BBC052194172AFF836789AEF9B02B8F50452EAF2D1275384106F0D98603097167592683A50AB962E1502ABACB286400');
INSERT INTO "user_scores" VALUES('3f39aaf149cf',2,'["ndcg@3", "recall@3", "precision@3", "mrr@3", "hit@3", "map@3", "f1@3", "epc@3", "efd@3", "average-popularity@3", "tail-share@3"]',X'E0002F00096C0000687ECA627E6F400000',NULL,X'E0020F009C6C0000001003B8AF57F080BBC45163460DC0F67C14BD4DA9DEE7A476E6CBB7837D512DB2EF7BF9D2067C3B846CE36FEF1876882A21DE2129F1B18B1B362AE60EF0A00D2198788F54F96E769D4ACBED4F4AB86BE7513E615BAE86AA1EBAD6E241201F5A17DD3DF7CC67FA7B8AF70C304E686382F02175375E2027DE6C304935C356C06E8ABEB2B105FE242EBFDE9642FC668B5658ACD10807D714B1B2F2C200');
CREATE INDEX ix_runs_state ON runs (state);
CREATE INDEX ix_runs_group_id ON runs (group_id);
CREATE INDEX ix_runs_score_key ON runs (score_key);
CREATE INDEX ix_folds_run_id ON folds (run_id);
CREATE INDEX ix_plans_kind ON plans (kind);
CREATE INDEX ix_spent_run_id ON spent (run_id);
COMMIT;
