#!/bin/sh
# Starts Spark's standalone master or a worker of it, from the pyspark wheel:
#   CITYWISE_SPARK_SECRET=… deploy/spark.sh master --host HOST --port 7077
#   CITYWISE_SPARK_SECRET=… deploy/spark.sh worker spark://HOST:7077 --cores 2 --memory 2g
# Nobody takes part who does not know the secret (pipeline.cluster.secret), and what they say to
# each other is encrypted. SPARK_HOME and JAVA_HOME are found where they are not set.
set -eu
role=$1
shift
here=$(cd "$(dirname "$0")/.." && pwd)
: "${CITYWISE_SPARK_SECRET:?set it to the value of pipeline.cluster.secret}"
: "${PYTHON:=$here/.venv/bin/python}"
: "${SPARK_HOME:=$("$PYTHON" -c 'import pathlib, pyspark; print(pathlib.Path(pyspark.__file__).parent)')}"
: "${JAVA_HOME:=$(cd "$here" && "$PYTHON" -c 'from citywise.backend import machine; print(machine.java_home())')}"
case $role in
master) class=org.apache.spark.deploy.master.Master ;;
worker) class=org.apache.spark.deploy.worker.Worker ;;
*)
    echo "expected master or worker, not $role" >&2
    exit 2
    ;;
esac
umask 077
SPARK_CONF_DIR=$(mktemp -d)
cat >"$SPARK_CONF_DIR/spark-defaults.conf" <<END
spark.authenticate true
spark.authenticate.secret $CITYWISE_SPARK_SECRET
spark.network.crypto.enabled true
spark.ui.killEnabled false
END
export SPARK_CONF_DIR SPARK_HOME JAVA_HOME
(sleep 30 && rm -rf "$SPARK_CONF_DIR") >/dev/null 2>&1 & # it is read at the start
unset CITYWISE_SPARK_SECRET
exec "$SPARK_HOME/bin/spark-class" "$class" "$@"
